import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ErrandError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { Principal } from '../task/principal.ts';
import type { TestClient } from '../testing/client.ts';
import type { Define, TestErrandOptions } from '../testing/test-errand.ts';
import { up } from '../testing/up.suite.ts';
import { virtualClock } from '../testing/virtual-clock.ts';

const ADA: Principal = { kind: 'user', issuer: 'https://issuer', subject: 'ada' };
const EVE: Principal = { kind: 'user', issuer: 'https://issuer', subject: 'eve' };
const COUNT = z.object({ count: z.int().positive() });

const TOOLS: Define = (errand) => {
  errand.tool(
    'order',
    { description: 'Orders lamps', outputSchema: z.object({ ordered: z.number() }) },
    async (_, task) => {
      const { content } = await task.elicit('count', { message: 'How many?', schema: COUNT });
      const ordered = content?.count ?? 0;
      return {
        content: [{ type: 'text', text: `ordered ${ordered}` }],
        structuredContent: { ordered },
        _meta: { bill: 7 },
      };
    },
  );
  errand.tool('rest', {}, async (_, task) => {
    task.status('resting');
    await task.sleep('10m');
    return 'rested';
  });
  errand.tool('fail', {}, async (_, task) => {
    await task.sleep('10m');
    throw new ErrandError('overloaded', 'no room');
  });
  errand.tool('say-no', {}, async (_, task) => {
    await task.sleep('10m');
    return { content: [{ type: 'text', text: 'no' }], isError: true };
  });
};

async function host(define: Define = TOOLS, options: TestErrandOptions = {}) {
  const clock = virtualClock();
  const t = await up(define, { clock, withoutTasks: 'handoff', ...options });
  const as = (principal: Principal) => t.clientAs({ tasks: false, capabilities: {}, principal });
  return { clock, t, ada: as(ADA), eve: as(EVE), taking: t.clientAs({ principal: ADA }) };
}

const text = (result: JsonObject): string => (result['content'] as JsonObject[])[0]!['text'] as string;

async function handedOff(client: TestClient, tool: string): Promise<string> {
  const { structuredContent } = await client.call(tool);
  return (structuredContent as JsonObject)['taskId'] as string;
}

async function toolsOf(client: TestClient): Promise<JsonObject[]> {
  const response = await client.request('tools/list', {});
  return ('result' in response ? response.result['tools'] : []) as JsonObject[];
}

describe('task_status', () => {
  it('waits for news, 20 s unless it is told how long, and 30 s at most', async () => {
    const { clock, ada } = await host();
    const taskId = await handedOff(ada, 'rest');
    for (const [args, ms] of [
      [{}, 20_000],
      [{ wait: 5 }, 5000],
      [{ wait: 3600 }, 30_000],
    ] as const) {
      let status: JsonObject | undefined;
      const asked = ada.call('task_status', { taskId, ...args }).then((result) => (status = result));
      await clock.advance(ms - 1);
      expect(status).toBeUndefined();
      await clock.advance(1);
      expect(await asked).toMatchObject({
        structuredContent: { taskId, status: 'working', next: { tool: 'task_status', arguments: { taskId } } },
      });
      expect(text(await asked)).toMatch(/is working \(resting\).*call task_status/);
    }
    expect(await ada.call('task_status', { taskId, wait: 0 })).toMatchObject({
      structuredContent: { status: 'working' },
    });
  });

  it('gives the result as the call would have, as soon as it is there, and again', async () => {
    const { clock, ada } = await host();
    const taskId = await handedOff(ada, 'rest');
    await clock.advance('595s');
    const status = ada.call('task_status', { taskId });
    await clock.advance('5s');
    expect(await status).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: 'rested' }] });
    expect((await status)['content']).toEqual((await ada.call('task_status', { taskId }))['content']);
  });

  it('says of what a tool could not do what the tool said', async () => {
    const { clock, ada } = await host();
    const taskId = await handedOff(ada, 'say-no');
    await clock.advance('10m');
    expect(await ada.call('task_status', { taskId })).toMatchObject({ isError: true, content: [{ text: 'no' }] });
  });

  it('tells a failure as an error that the model can read', async () => {
    const { clock, ada } = await host();
    const taskId = await handedOff(ada, 'fail');
    await clock.advance('10m');
    expect(await ada.call('task_status', { taskId })).toMatchObject({
      isError: true,
      content: [{ text: `Task ${taskId} failed: no room` }],
      structuredContent: { status: 'failed', error: { code: -31002, message: 'no room' } },
    });
  });
});

describe('task_answer', () => {
  it('gives the answers to the handler, whose result is that of the call', async () => {
    const { ada } = await host();
    const asked = await ada.call('order');
    const { taskId, questions } = asked['structuredContent'] as { taskId: string; questions: JsonObject };
    expect(questions).toMatchObject({
      count: { message: 'How many?', answer: { anyOf: [{ properties: { content: { type: 'object' } } }, {}] } },
    });
    const answers = { count: { action: 'accept', content: { count: 3 } } };
    const answered = await ada.call('task_answer', { taskId, answers });
    expect(text(answered)).toMatch(/has its answer to "count".*task_status/);
    expect(await ada.call('task_status', { taskId })).toMatchObject({
      content: [{ text: 'ordered 3' }],
      structuredContent: { ordered: 3 },
      _meta: { bill: 7 },
    });
    expect(text(await ada.call('task_answer', { taskId, answers }))).toMatch(/does not ask "count" \(any more\)/);
  });

  it('lists what is open where nothing of it is answered, as an error', async () => {
    const { ada } = await host();
    const taskId = await handedOff(ada, 'order');
    const listed = { isError: true, structuredContent: { taskId, questions: { count: { message: 'How many?' } } } };
    const none = await ada.call('task_answer', { taskId, answers: {} });
    expect(none).toMatchObject(listed);
    expect(text(none)).toMatch(/^No answer was given.*waits for answers:\n- "count": How many\?/);
    const typo = await ada.call('task_answer', { taskId, answers: { Count: { action: 'decline' } } });
    expect(typo).toMatchObject(listed);
    expect(text(typo)).toMatch(/^It does not ask "Count".*\n- "count": How many\?/);
  });

  it('names the place of a wrong answer as it was written, whatever its key', async () => {
    const { ada } = await host((errand) =>
      errand.tool(
        'odd',
        {},
        async (_, task) => `${(await task.elicit('b/"$&', { message: 'm', schema: COUNT })).action}`,
      ),
    );
    const taskId = await handedOff(ada, 'odd');
    const answers = { 'b/"$&': { action: 'accept', content: { count: 'x' } } };
    const path = 'answers["b/\\"$&"].content.count';
    expect(await ada.call('task_answer', { taskId, answers })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(`Invalid answer: ${path}: `) }],
      structuredContent: { error: { data: { key: 'b/"$&', path } } },
    });
  });

  it('takes what tasks/update takes, and says of all else what tasks/update says', async () => {
    const { ada, taking } = await host();
    const taskId = await handedOff(ada, 'order');
    for (const count of [
      { action: 'accept', content: { count: 'three' } },
      { action: 'accept', content: {} },
      { action: 'maybe' },
      { count: 3 },
      7,
    ] as JsonObject[]) {
      const refused = await taking.request('tasks/update', { taskId, inputResponses: { count } });
      if (!('error' in refused)) throw new Error(`it was taken: ${JSON.stringify(count)}`);
      const { code } = refused.error;
      const [message, data] = JSON.parse(
        JSON.stringify([refused.error.message, refused.error.data]).replaceAll(
          'inputResponses[\\"count\\"]',
          'answers.count',
        ),
      ) as [string, JsonObject];
      expect(message).toContain('answers.count');
      expect(await ada.call('task_answer', { taskId, answers: { count } })).toMatchObject({
        isError: true,
        content: [{ text: message }],
        structuredContent: { error: { code, message, data } },
      });
    }
    expect(await ada.call('task_status', { taskId, wait: 0 })).toMatchObject({
      structuredContent: { status: 'input_required' },
    });
  });
});

describe('task_cancel', () => {
  it('ends the task for good', async () => {
    const { clock, ada } = await host();
    const taskId = await handedOff(ada, 'rest');
    const cancelled = { structuredContent: { taskId, status: 'cancelled' } };
    expect(await ada.call('task_cancel', { taskId })).toMatchObject(cancelled);
    await clock.advance('10m');
    expect(await ada.call('task_status', { taskId })).toMatchObject(cancelled);
    expect(text(await ada.call('task_status', { taskId }))).toBe(`Task ${taskId} was cancelled; there is no result.`);
  });

  it('says where it comes too late', async () => {
    const { clock, ada } = await host();
    const taskId = await handedOff(ada, 'rest');
    await clock.advance('10m');
    expect(text(await ada.call('task_cancel', { taskId }))).toMatch(/had ended before; task_status tells how/);
    expect(text(await ada.call('task_status', { taskId }))).toBe('rested');
  });
});

describe('the tools for calls that were handed off', () => {
  it.each([
    ['task_status', {}],
    ['task_answer', { answers: { count: { action: 'accept', content: { count: 1 } } } }],
    ['task_cancel', {}],
  ])('know nothing of the tasks of others: %s', async (tool, args) => {
    const { ada, eve } = await host();
    const taskId = await handedOff(ada, 'order');
    const foreign = await eve.call(tool, { taskId, ...args });
    const unknown = await eve.call(tool, { taskId: taskId.toUpperCase(), ...args });
    expect(foreign).toEqual(unknown);
    expect(foreign).toMatchObject({
      isError: true,
      structuredContent: { error: { code: -32602, message: 'Task not found' } },
    });
    expect(await ada.call('task_status', { taskId })).toMatchObject({
      structuredContent: { status: 'input_required' },
    });
  });

  it('tell a model what is wrong with its arguments', async () => {
    const { ada } = await host();
    for (const args of [{}, { taskId: 7 }, { taskId: 't', wait: -1 }, { taskId: 't', wait: 'long' }]) {
      expect(text(await ada.call('task_status', args))).toMatch(/^Invalid arguments for tool "task_status": /);
    }
    expect(text(await ada.call('task_answer', { taskId: 't' }))).toMatch(/^Invalid arguments/);
  });

  it('are read as often as tasks may be', async () => {
    const { clock, ada } = await host(TOOLS, { limits: { pollsPerSecond: 1 } });
    const taskId = await handedOff(ada, 'rest');
    const reads = Promise.all(Array.from({ length: 9 }, () => ada.call('task_status', { taskId, wait: 0 })));
    await clock.advance('1m');
    const refused = { isError: true, structuredContent: { error: { code: -31002, data: { retryAfterMs: 6000 } } } };
    expect((await reads).slice(0, 7)).toEqual(Array(7).fill(expect.not.objectContaining({ isError: true })));
    expect((await reads)[7]).toMatchObject(refused);
  });
});

describe('the list of tools', () => {
  it('has them for clients that take no tasks, where a call may be handed off', async () => {
    const { ada, taking } = await host();
    const names = async (client: TestClient) => (await toolsOf(client)).map(({ name }) => name);
    const own = ['order', 'rest', 'fail', 'say-no'];
    expect(await names(taking)).toEqual(own);
    expect(await names(ada)).toEqual([...own, 'task_status', 'task_answer', 'task_cancel']);

    const never = await host((errand) => errand.tool('work', {}, () => 'done'), { withoutTasks: 'refuse' });
    expect(await names(never.ada)).toEqual(['work']);
    await expect(never.ada.call('task_status', { taskId: 't' })).rejects.toMatchObject({ code: -32602 });
    const plain = await host((errand) => errand.tool('work', { task: 'never' }, () => 'done'));
    expect(await names(plain.ada)).toEqual(['work']);
  });

  it('tells such clients alone that a result may be a handle', async () => {
    const { ada, taking } = await host();
    const schemaOf = async (client: TestClient) =>
      (await toolsOf(client)).find(({ name }) => name === 'order')!['outputSchema'];
    const own = await schemaOf(taking);
    expect(own).toMatchObject({ type: 'object', properties: { ordered: { type: 'number' } } });
    expect(await schemaOf(ada)).toMatchObject({
      type: 'object',
      anyOf: [{ properties: { ordered: {} } }, { required: ['taskId', 'status'] }],
    });
  });

  it('has room for one tool of a name', async () => {
    const taken = /calls of tool "[a-z_]+" may be handed off, and clients follow those by a tool "task_status" of ours/;
    const both = (first: string, second: string) => () => {
      const define: Define = (errand) => errand.tool(first, {}, () => '').tool(second, { holdFor: Infinity }, () => '');
      return up(define, {});
    };
    await expect(both('work', 'task_status')()).rejects.toThrow(taken);
    await expect(up((errand) => errand.tool('task_status', {}, () => ''), {})).rejects.toThrow(taken);
    const late: Define = (errand) =>
      errand.tool('task_status', { holdFor: Infinity }, () => '').tool('work', {}, () => '');
    await expect(up(late, {})).rejects.toThrow(taken);
    await up((errand) => errand.tool('task_status', { holdFor: Infinity }, () => ''), {});
  });
});
