import { describe, expect, it } from 'vitest';
import { served } from '../../fixtures/served.ts';
import { addSessionTools } from '../../fixtures/session-tools.ts';
import { ASKED, openSession } from '../../fixtures/session-wire.ts';
import type { Principal } from '../../../src/task/principal.ts';
import type { Loose } from '../../wire-schemas.ts';

const text = (result: Loose): string => result.content[0].text as string;
const YES = { action: 'accept', content: { go: true } };
const asks = ({ method }: Loose) => method === 'elicitation/create';
const isStatus = ({ method }: Loose) => method === 'notifications/tasks/status';

/** Who calls is whoever a header says. */
const http = {
  principal: ({ headers }: { headers: Record<string, unknown> }): Principal => ({
    kind: 'user',
    issuer: 'test',
    subject: String(headers['x-user']),
  }),
};
const as = (user: string) => ({ headers: { 'x-user': user } });

/** Sends a request as it is. */
async function bare(url: string, method: string, headers: Record<string, string>, body?: object) {
  const response = await fetch(url, {
    method,
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const json = await response.text();
  return { status: response.status, json: json === '' ? undefined : JSON.parse(json) };
}

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

describe('a session', () => {
  it('survives a restart of the server, and so do its tasks (CASES 2)', async () => {
    const { url, restart } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('publish', { page: 'home' });
    await client.until(taskId, ({ status }) => status === 'input_required');
    await restart();
    expect(await client.result('tasks/get', { taskId })).toMatchObject({ status: 'input_required' });
    const wait = await client.open('tasks/result', { taskId });
    await client.respond((await wait.next(asks)).id, YES);
    expect(text((await wait.outcome()).result)).toBe('https://pages.example/home');
  });

  it('is nothing that its tasks depend on: another one reads them, after the first has ended (CASES 2)', async () => {
    const { url } = await served(addSessionTools);
    const first = await openSession(url);
    const { taskId } = await first.begin('endless');
    expect(await first.end()).toBe(202);
    const second = await openSession(url);
    expect(await second.result('tasks/get', { taskId })).toMatchObject({ status: 'working' });
  });

  it('answers 404 once it was ended, so that the client opens a new one (N-3)', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const wait = await client.open('tasks/result', { taskId: (await client.begin('endless')).taskId });
    await client.end();
    await wait.over;
    expect(await client.request('ping')).toMatchObject({ status: 404, error: { code: -31015 } });
    expect((await client.listen()).status).toBe(404);
    expect(await client.end()).toBe(404);
  });

  it('answers 404 when it is too old', async () => {
    const { url } = await served(addSessionTools, { sessionLifetime: '400ms' });
    const client = await openSession(url);
    expect(await client.request('ping')).toMatchObject({ status: 200 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await client.request('ping')).toMatchObject({ status: 404, error: { code: -31015 } });
  });

  it('answers 404 to anybody but its principal, and where its id is none of ours (N-3)', async () => {
    const { url } = await served(addSessionTools, { http });
    const ann = await openSession(url, as('ann'));
    const headers = { 'mcp-session-id': ann.session!, 'mcp-protocol-version': '2025-11-25' };
    expect((await bare(url, 'POST', { ...headers, 'x-user': 'ann' }, LIST)).status).toBe(200);
    expect((await bare(url, 'POST', { ...headers, 'x-user': 'bob' }, LIST)).status).toBe(404);
    expect((await bare(url, 'GET', { ...headers, 'x-user': 'bob' })).status).toBe(404);
    expect((await bare(url, 'DELETE', { ...headers, 'x-user': 'bob' })).status).toBe(404);
    const forged = { ...headers, 'mcp-session-id': `${ann.session!.slice(0, -4)}AAAA`, 'x-user': 'ann' };
    expect((await bare(url, 'POST', forged, LIST)).status).toBe(404);
    expect((await bare(url, 'POST', { ...forged, 'mcp-session-id': 'x' }, LIST)).status).toBe(404);
    expect((await bare(url, 'POST', { ...headers, 'x-user': 'ann' }, LIST)).status).toBe(200);
  });

  it('of another server is unknown here', async () => {
    const [one, other] = [await served(addSessionTools), await served(addSessionTools)];
    const client = await openSession(one.url);
    expect((await bare(other.url, 'POST', { 'mcp-session-id': client.session! }, LIST)).status).toBe(404);
  });

  it('wants the version that was agreed on, or none at all (N-3)', async () => {
    const { url } = await served(addSessionTools);
    const { session } = await openSession(url);
    const headers = { 'mcp-session-id': session! };
    expect((await bare(url, 'POST', headers, LIST)).status).toBe(200);
    for (const version of ['2025-06-18', '2026-07-28', 'DRAFT-2026-v1']) {
      expect((await bare(url, 'POST', { ...headers, 'mcp-protocol-version': version }, LIST)).status).toBe(400);
    }
  });

  it('is what GET and DELETE need, and what requests of this revision can do without (N-4)', async () => {
    const { url } = await served(addSessionTools);
    const version = { 'mcp-protocol-version': '2025-11-25' };
    expect((await bare(url, 'GET', version)).status).toBe(405);
    expect((await bare(url, 'DELETE', version)).status).toBe(405);
    expect((await bare(url, 'POST', {}, LIST)).status).toBe(400);
    expect((await bare(url, 'POST', { 'mcp-protocol-version': '2026-07-28' }, LIST)).json).toMatchObject({
      error: { code: -32602 },
    });
    const call = { ...LIST, method: 'tools/call', params: { name: 'counting', task: {} } };
    const made = await bare(url, 'POST', version, call);
    expect(made).toMatchObject({ status: 200, json: { result: { task: { status: 'working' } } } });
    const { taskId } = made.json.result.task;
    const wait = { ...LIST, method: 'tasks/result', params: { taskId } };
    const waited = await bare(url, 'POST', { ...version, accept: 'application/json' }, wait);
    expect(text(waited.json.result)).toBe('three');
    // Who has no session cannot be asked anything.
    const asking = { ...LIST, method: 'tools/call', params: { name: 'asking-plain' } };
    expect((await bare(url, 'POST', version, asking)).json).toMatchObject({ error: { code: -32021 } });
  });

  it('is offered this revision where it asks for one that is not here (N-1)', async () => {
    const { url } = await served(addSessionTools);
    expect((await openSession(url, { version: '2025-06-18' })).initialized.protocolVersion).toBe('2025-11-25');
    expect((await openSession(url, { version: '1999-01-01' })).initialized.protocolVersion).toBe('2025-11-25');
  });

  it('is opened only by who says what it is', async () => {
    const { url } = await served(addSessionTools);
    const open = (params: object) => bare(url, 'POST', {}, { ...LIST, method: 'initialize', params });
    const whole = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
    expect(await open(whole)).toMatchObject({ status: 200 });
    for (const missing of Object.keys(whole)) {
      const { [missing as keyof typeof whole]: _, ...params } = whole;
      expect((await open(params)).json).toMatchObject({ error: { code: -32602 } });
    }
  });

  it('lists the tasks of its principal, page by page, and those of nobody else (L-40 to L-42, L-50)', async () => {
    const { url } = await served(addSessionTools, { http });
    const ann = await openSession(url, as('ann'));
    const bob = await openSession(url, as('bob'));
    expect(ann.initialized.capabilities.tasks).toHaveProperty('list', {});
    const made = new Set<string>();
    for (let count = 0; count < 60; count++) made.add((await ann.begin('endless')).taskId);
    await bob.begin('endless');
    const first = await ann.result('tasks/list');
    const second = await ann.result('tasks/list', { cursor: first.nextCursor });
    expect(second).not.toHaveProperty('nextCursor');
    expect(new Set([...first.tasks, ...second.tasks].map(({ taskId }: Loose) => taskId))).toEqual(made);
    for (const cursor of ['x', first.tasks[0].taskId, first.nextCursor.slice(2)]) {
      expect((await ann.request('tasks/list', { cursor })).error).toMatchObject({ code: -32602 });
    }
    expect((await bob.request('tasks/list', { cursor: first.nextCursor })).error).toMatchObject({ code: -32602 });
    expect((await bob.result('tasks/list')).tasks).toHaveLength(1);
  });

  it('shows nothing of the tasks of others (L-50)', async () => {
    const { url } = await served(addSessionTools, { http });
    const { taskId } = await (await openSession(url, as('ann'))).begin('endless');
    const bob = await openSession(url, as('bob'));
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect(await bob.request(method, { taskId })).toEqual({
        ...(await bob.request(method, { taskId: 'nothing' })),
        id: expect.any(Number),
      });
    }
  });

  it('takes no answer of others to a question', async () => {
    const { url } = await served(addSessionTools, { http });
    const ann = await openSession(url, as('ann'));
    const bob = await openSession(url, as('bob'));
    const { taskId } = await ann.begin('publish', { page: 'home' });
    const wait = await ann.open('tasks/result', { taskId });
    const question = await wait.next(asks);
    expect((await bob.respond(question.id, { action: 'decline' })).status).toBe(202);
    expect(await ann.result('tasks/get', { taskId })).toMatchObject({ status: 'input_required' });
    await ann.respond(question.id, YES);
    expect(text((await wait.outcome()).result)).toBe('https://pages.example/home');
  });
});

describe('a stream of a session', () => {
  it('begins with an event that it can be gone on from, and names each one', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const stream = await client.listen();
    expect(stream).toMatchObject({ status: 200, messages: [] });
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    await client.begin('counting');
    await stream.next(isStatus);
    expect(new Set(stream.ids).size).toBe(stream.ids.length);
    expect(stream.ids).toHaveLength(stream.messages.length + 1);
  });

  it('gives what was missed to who comes back, once', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const stream = await client.listen();
    const { taskId } = await client.begin('publish', { page: 'home' });
    const question = await stream.next(asks);
    const at = stream.messages.indexOf(question);
    stream.cut();
    await stream.over;
    await client.respond(question.id, YES);
    await client.until(taskId, ({ status }) => status === 'completed');
    const [before, after] = [stream.ids[at], stream.ids[at + 1]];
    const again = await client.listen(before);
    await again.next((message) => isStatus(message) && message.params.status === 'completed');
    expect(again.messages[0]).toEqual(question);
    again.cut();
    const rest = await client.listen(after);
    await rest.next((message) => isStatus(message) && message.params.status === 'completed');
    expect(rest.messages.filter(asks)).toEqual([]);
  });

  it('tells after a restart what is still true, and waits on for what it waited for', async () => {
    const { url, restart } = await served(addSessionTools);
    const client = await openSession(url);
    const stream = await client.listen();
    const { taskId } = await client.begin('publish', { page: 'home' });
    const first = await stream.next(asks);
    const wait = await client.open('tasks/result', { taskId });
    await restart();
    await Promise.all([stream.over, wait.over]);
    expect(wait.messages.filter(({ method }: Loose) => method === undefined)).toEqual([]);
    const again = await client.listen(stream.ids.at(-1));
    const question = await again.next(asks, 1500);
    expect(question.id).not.toBe(first.id);
    await again.next((message) => isStatus(message) && message.params.taskId === taskId, 1500);
    const waited = await client.listen(wait.ids.at(-1));
    await client.respond(question.id, YES);
    const response = await waited.next(({ id }) => id === wait.id, 1500);
    expect(text(response.result)).toBe('https://pages.example/home');
  });

  it('that was of a call says after a restart that its answer is gone', async () => {
    const { url, restart } = await served(addSessionTools);
    const client = await openSession(url);
    const call = await client.open('tools/call', { name: 'asking-plain' });
    await call.next(asks);
    const at = call.ids.at(-1);
    call.cut();
    await restart();
    const rest = await client.listen(at);
    expect(await rest.next(({ id }) => id === call.id)).toMatchObject({ error: { code: -31011 } });
  });

  it('on which nothing can come any more is not opened again', async () => {
    const { url } = await served(addSessionTools);
    const client = await openSession(url);
    const { taskId } = await client.begin('publish', { page: 'home' });
    const wait = await client.open('tasks/result', { taskId });
    await client.respond((await wait.next(asks)).id, YES);
    await wait.over;
    expect((await client.listen(wait.ids.at(-1))).status).toBe(405);
  });

  it('is of one session, and of no use to another', async () => {
    const { url } = await served(addSessionTools);
    const [one, other] = [await openSession(url), await openSession(url, { capabilities: ASKED })];
    const stream = await one.listen();
    await one.begin('publish', { page: 'home' });
    await stream.next(asks);
    const foreign = await other.listen(stream.ids[0]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(foreign.messages).toEqual([]);
  });
});
