import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Errand } from '../../src/errand.ts';
import type { JsonObject } from '../../src/json.ts';
import { frame, headersOf, PLAIN_CLIENT, TASK_CLIENT, TASKS } from '../fixtures/frames.ts';
import { AUDIENCE, issuer } from '../fixtures/issuer.ts';
import { served } from '../fixtures/served.ts';
import { accept, textOf, wireClient } from '../fixtures/wire.ts';

// Two people behind one OAuth client, an anonymous caller and a bad token, against every method (CASES 1 to 4).

/** Knows our extension, too. */
const KNOWING: JsonObject = { ...TASK_CLIENT, extensions: { [TASKS]: {}, 'dev.errand/tasks': {} } };

const OK = z.object({ ok: z.boolean() });

function define(errand: Errand): void {
  errand.tool('ask', { task: 'always' }, async (_args, task) => {
    const answer = await task.elicit('go', { message: 'Go?', schema: OK });
    return `${JSON.stringify(answer.content)} for ${JSON.stringify(task.principal)}`;
  });
  errand.tool('form', { task: 'never' }, async (_args, task) => {
    const answer = await task.elicit('go', { message: 'Go?', schema: OK });
    return `${JSON.stringify(answer.content)} for ${JSON.stringify(task.principal)}`;
  });
}

/** A server where tokens are optional, a task of Ann's that asks, and everybody who might try for it. */
async function scene() {
  const from = await issuer();
  const { url } = await served(define, {
    http: { auth: { mode: 'optional', issuer: from.url, audience: AUDIENCE } },
  });
  const as = async (sub: string) => ({
    authorization: `Bearer ${await from.token({ sub, client_id: 'the-one-app' })}`,
  });
  const ann = await as('ann');
  const strangers = { bob: await as('bob'), nobody: {} };
  const bad = {
    expired: { authorization: `Bearer ${await from.token({ sub: 'ann', exp: 1 })}` },
    'of another audience': { authorization: `Bearer ${await from.token({ sub: 'ann', aud: 'other' })}` },
    garbage: { authorization: 'Bearer garbage' },
    'of another scheme': { authorization: 'Basic YW5uOmFubg==' },
  };
  const taskId = await wireClient(url, { headers: ann }).begin('ask');
  const unknown = otherId(taskId);
  return { url, ann, strangers, bad, taskId, unknown };
}

/** An id of the same shape that no task has. */
function otherId(id: string): string {
  return (id.startsWith('x') ? 'y' : 'x') + id.slice(1);
}

/** All that comes back for one request, to the end of its stream, byte for byte; given ids are taken out. */
async function bytes(
  url: string,
  method: string,
  params: JsonObject,
  headers: Record<string, string>,
  { without = [], capabilities = KNOWING }: { without?: string[]; capabilities?: JsonObject } = {},
): Promise<string> {
  const request = frame('same', method, params, capabilities);
  const sent = { ...headersOf(request), ...headers };
  const response = await fetch(url, { method: 'POST', headers: sent, body: JSON.stringify(request) });
  const { date: _, ...answered } = Object.fromEntries(response.headers);
  const text = `${response.status} ${JSON.stringify(answered)} ${await response.text()}`;
  return without.reduce((rest, id) => rest.replaceAll(id, 'ID'), text);
}

/** Every method that names a task. */
const ON_TASKS: [method: string, params: (id: string) => JsonObject][] = [
  ['tasks/get', (taskId) => ({ taskId })],
  ['tasks/update', (taskId) => ({ taskId, inputResponses: { go: accept({ ok: true }) } })],
  ['tasks/update', (taskId) => ({ taskId, inputResponses: { go: accept({ ok: 'no boolean' }) } })],
  ['tasks/update', (taskId) => ({ taskId, inputResponses: {} })],
  ['tasks/cancel', (taskId) => ({ taskId })],
  ['errand/pause', (taskId) => ({ taskId })],
  ['errand/resume', (taskId) => ({ taskId })],
  ['errand/steer', (taskId) => ({ taskId, message: 'left' })],
  ['errand/graph', (taskId) => ({ taskId })],
  ['errand/events', (taskId) => ({ taskId })],
  ['subscriptions/listen', (taskId) => ({ notifications: { taskIds: [taskId] } })],
];

const EVERY: [method: string, params: JsonObject][] = [
  ['server/discover', {}],
  ['tools/list', {}],
  ['tools/call', { name: 'ask', arguments: {} }],
  ['tools/call', { name: 'no-such-tool', arguments: {} }],
  ['no/such-method', {}],
];

describe('CASES Isolation, every method', { timeout: 30_000 }, () => {
  test('1, 3, 4: to strangers a task of somebody else is, byte for byte, an id that nobody has', async () => {
    const { url, ann, strangers, taskId, unknown } = await scene();
    for (const headers of Object.values(strangers)) {
      for (const [method, params] of ON_TASKS) {
        const foreign = await bytes(url, method, params(taskId), headers, { without: [taskId] });
        expect([method, foreign]).toEqual([
          method,
          await bytes(url, method, params(unknown), headers, { without: [unknown] }),
        ]);
        if (method !== 'subscriptions/listen') expect(foreign).toContain('"code":-32602');
        else expect(foreign).not.toContain('ID');
      }
    }
    // The same requests mean something to its owner, whom all this has not disturbed.
    const owner = wireClient(url, { headers: ann });
    expect(await owner.get(taskId)).toMatchObject({ status: 'input_required' });
    await owner.update(taskId, { go: accept({ ok: true }) });
    expect(textOf(await owner.ended(taskId))).toMatch(/^\{"ok":true\} for .*"subject":"ann"/);
  });

  test('1: who subscribes to a task of somebody else hears nothing when it changes', async () => {
    const { url, ann, strangers, taskId } = await scene();
    const bob = wireClient(url, { headers: strangers.bob });
    const own = await bob.begin('ask');
    const listening = await bob.listen([taskId, own]);
    await listening.next(({ params }) => params?.['taskId'] === own);
    const owner = wireClient(url, { headers: ann });
    await owner.update(taskId, { go: accept({ ok: true }) });
    await owner.ended(taskId);
    await bob.cancel(own);
    await listening.next(({ params }) => params?.['status'] === 'cancelled');
    expect(JSON.stringify(listening.messages)).not.toContain(taskId);
    listening.close();
  });

  test('4: a bad token is 401 for every method, and the same for every id; no token never is more than a bad one', async () => {
    const { url, bad, taskId, unknown } = await scene();
    const named = ON_TASKS.flatMap(([method, params]) => [taskId, unknown].map((id) => [method, params(id)] as const));
    for (const headers of Object.values(bad)) {
      const answers = new Set<string>();
      for (const [method, params] of [...EVERY, ...named]) answers.add(await bytes(url, method, params, headers));
      expect(answers.size).toBe(1);
      expect([...answers][0]).toMatch(/^401 /);
    }
  });

  test('what is not of a task reads the same for everybody', async () => {
    const { url, ann, strangers } = await scene();
    for (const [method, params] of [EVERY[0]!, EVERY[1]!, EVERY[3]!, EVERY[4]!]) {
      const answers = [ann, ...Object.values(strangers)].map((headers) => bytes(url, method, params, headers));
      expect(new Set(await Promise.all(answers)).size).toBe(1);
    }
  });

  test.each<[string, JsonObject]>([
    ['form', TASK_CLIENT],
    ['ask', PLAIN_CLIENT],
  ])('requestState of "%s" given to one caller is to every other as good as made up', async (name, capabilities) => {
    const { url, ann, strangers } = await scene();
    const params = { name, arguments: {} };
    const asked = await wireClient(url, { headers: ann }).call(name, {}, { capabilities });
    expect(asked).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
    const requestState = asked['requestState'] as string;
    const inputResponses = { go: accept({ ok: true }) };
    // One that has the same shape, and one that was changed by a bit.
    const changed = Buffer.from(requestState, 'base64url');
    changed[20]! ^= 1;
    const forged = [Buffer.alloc(changed.length, 7), changed].map((each) => each.toString('base64url'));
    for (const headers of Object.values(strangers)) {
      const send = (state: string) =>
        bytes(url, 'tools/call', { ...params, requestState: state, inputResponses }, headers, { capabilities });
      const stolen = await send(requestState);
      expect(stolen).toContain('"code":-32602');
      expect(await Promise.all(forged.map(send))).toEqual([stolen, stolen]);
    }
    const answered = await wireClient(url, { headers: ann }).result(
      'tools/call',
      { ...params, requestState, inputResponses },
      { capabilities },
    );
    expect(textOf(answered)).toMatch(/^\{"ok":true\} for .*"subject":"ann"/);
  });
});
