import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { JsonObject } from '../json.ts';
import { memory } from '../stores/memory.ts';
import { sqlite } from '../stores/sqlite.ts';
import type { Principal } from '../task/principal.ts';
import type { TestClient } from '../testing/client.ts';
import type { Define } from '../testing/test-errand.ts';
import { up } from '../testing/up.suite.ts';

const ADA: Principal = { kind: 'user', issuer: 'https://issuer', subject: 'ada' };
const EVE: Principal = { kind: 'user', issuer: 'https://issuer', subject: 'eve' };

let runs = 0;
beforeEach(() => {
  runs = 0;
});

const TOOLS: Define = (errand) => {
  errand.tool('rest', { task: 'always' }, async (_, task) => {
    await task.step('count', () => ++runs);
    await task.sleep('1h');
    return 'rested';
  });
  errand.tool('hold', { task: 'always', replay: false }, () => new Promise<string>(() => undefined));
  errand.tool('plain', { task: 'never' }, () => `${++runs}`);
  errand.tool(
    'asked',
    {
      task: 'always',
      prepare: async (_, ask) =>
        (await ask.elicit('n', { message: 'How many?', schema: z.object({ n: z.number() }) })).content?.n ?? 0,
    },
    async (_, task) => {
      await task.sleep('1h');
      return `got ${JSON.stringify(task.prepared)}`;
    },
  );
};

/** What comes of a call with a key: the id of its task, or the code of the error. */
async function keyed(client: TestClient, key: string, name = 'rest', args: JsonObject = {}, more: JsonObject = {}) {
  const _meta = { 'dev.errand/idempotencyKey': key };
  const response = await client.request('tools/call', { name, arguments: args, _meta, ...more });
  return 'error' in response ? response.error.code : (response.result['taskId'] ?? response.result);
}

describe.each([
  ['memory', () => memory()],
  ['sqlite', () => sqlite(':memory:')],
] as const)('a call with a key, on %s', (_, store) => {
  it('gets its task also where the principal may have no more of them', async () => {
    const t = await up(TOOLS, { store: store(), limits: { liveTasks: 2 } });
    const ada = t.clientAs({ principal: ADA });
    const id = await keyed(ada, 'a');
    await keyed(ada, 'b');
    expect(await keyed(ada, 'c')).toBe(-31007);
    expect(await keyed(ada, 'a')).toBe(id);
    expect(await keyed(ada, 'a', 'rest', { other: true })).toBe(-31009);
    expect(await keyed(ada, '')).toBe(-32602);
    expect(await keyed(t.clientAs({ principal: EVE }), 'a')).not.toBe(id);
  });

  it('shares the making of its task with all that are made meanwhile', async () => {
    const t = await up(TOOLS, { store: store(), limits: { liveTasks: 2 } });
    const ada = t.clientAs({ principal: ADA });
    const answers = await Promise.all(Array.from({ length: 20 }, () => keyed(ada, 'a')));
    expect(new Set(answers)).toEqual(new Set([expect.any(String)]));
    await expect.poll(() => runs).toBe(1);
    // Those that made nothing take up no room.
    expect(await keyed(ada, 'b')).toEqual(expect.any(String));
    expect(await Promise.all([1, 2, 3].map(() => keyed(ada, 'c')))).toEqual([-31007, -31007, -31007]);
    const mixed = await Promise.all([1, 2, 1, 2].map((n) => keyed(ada, 'a', 'rest', n === 1 ? {} : { n })));
    expect(mixed).toEqual([answers[0], -31009, answers[0], -31009]);
  });

  it('gets its task also where no run may wait for a slot', async () => {
    const t = await up(TOOLS, { store: store(), limits: { queuedRuns: 1 }, concurrency: 1 });
    const ada = t.clientAs({ principal: ADA });
    const first = await keyed(ada, 'a', 'hold');
    const second = await keyed(ada, 'b', 'hold');
    expect(second).toEqual(expect.any(String));
    await expect.poll(() => keyed(ada, 'c', 'hold')).toBe(-31002);
    expect([await keyed(ada, 'a', 'hold'), await keyed(ada, 'b', 'hold')]).toEqual([first, second]);
    expect(await keyed(ada, 'b', 'hold', { other: true })).toBe(-31009);
  });

  it('is asked what its task begins with before there is one, and never again', async () => {
    const { client } = await up(TOOLS, { store: store() });
    const key = 'k'.repeat(40);
    const { requestState } = (await keyed(client, key, 'asked')) as JsonObject;
    const answer = (n: number) => ({
      requestState: requestState!,
      inputResponses: { n: { action: 'accept', content: { n } } },
    });
    const made = await Promise.all([1, 1].map((n) => keyed(client, key, 'asked', {}, answer(n))));
    expect(made).toEqual([expect.any(String), made[0]]);
    expect(await keyed(client, key, 'asked')).toBe(made[0]);
    expect(await keyed(client, key, 'asked', {}, answer(2))).toBe(made[0]);
    expect(await keyed(client, key, 'asked', { other: true })).toBe(-31009);
  });

  it('is refused for a tool that makes no tasks, which could not keep to it', async () => {
    const { client } = await up(TOOLS, { store: store() });
    const params = { name: 'plain', arguments: {}, _meta: { 'dev.errand/idempotencyKey': 'k'.repeat(40) } };
    expect(await client.request('tools/call', params)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('tool "plain" makes no tasks') },
    });
    expect(runs).toBe(0);
  });
});
