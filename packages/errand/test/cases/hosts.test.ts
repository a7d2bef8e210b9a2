import { setTimeout as delay } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import type { JsonObject } from '../../src/json.ts';
import { testErrand, virtualClock, type Define } from '../../src/testing.ts';
import { connectHttp } from '../fixtures/connections.ts';

/** How long the host waits for an answer, in ms. */
const HOST_TIMEOUT = 60_000;

/** A host that knows nothing of tasks and whose users cannot be asked, before a server whose time the test turns. */
async function host(define: Define) {
  const clock = virtualClock();
  const t = await testErrand({ clock }, define);
  onTestFinished(() => t.close());
  const { url } = await t.errand.serve({ port: 0 });
  const { client } = await connectHttp(url, {});
  onTestFinished(() => client.close());

  /** Time passes until the answer is there. Fails where the host would have given up. */
  async function call(name: string, args: JsonObject = {}): Promise<CallToolResult> {
    const began = clock.elapsed();
    let over = false;
    const result = client.callTool({ name, arguments: args }).finally(() => (over = true));
    result.catch(() => undefined);
    while (!over) {
      await delay(4);
      await clock.advance('1s');
      expect(clock.elapsed() - began, `${name} took longer than hosts wait`).toBeLessThan(HOST_TIMEOUT);
    }
    return result;
  }

  return { call, clock };
}

const textOf = ({ content }: CallToolResult): string =>
  content.map((block) => ('text' in block ? block.text : '')).join();

/** What a model does with an answer that tells it to call another tool: just that, until there is nothing more to call. */
async function asTold(
  call: (name: string, args: JsonObject) => Promise<CallToolResult>,
  first: CallToolResult,
  answers: JsonObject = {},
): Promise<{ result: CallToolResult; calls: string[] }> {
  const calls: string[] = [];
  let result = first;
  for (;;) {
    const told = /call (task_\w+) with (\{"taskId":"[^"]+")/i.exec(textOf(result));
    if (told === null) return { result, calls };
    const [, name, args] = told as unknown as [string, string, string];
    calls.push(name);
    result = await call(name, {
      ...(JSON.parse(`${args}}`) as JsonObject),
      ...(name === 'task_answer' && { answers }),
    });
  }
}

describe('CASES Protocol', { timeout: 30_000 }, () => {
  test('33: a host that times out at 60 s can use a tool that takes ten minutes', async () => {
    let cooked = 0;
    const { call, clock } = await host((errand) =>
      errand.tool('cook', { description: 'Cooks a stew' }, async (_, task) => {
        await task.step('cook', () => cooked++);
        await task.sleep('10m');
        return 'a stew';
      }),
    );
    const { result, calls } = await asTold(call, await call('cook'));
    expect(textOf(result)).toBe('a stew');
    expect(clock.elapsed()).toBeGreaterThanOrEqual(600_000);
    expect(cooked).toBe(1);
    // The tool waits by itself, so that the model need not ask all the time.
    expect(calls.length).toBeLessThan(40);
    expect(new Set(calls)).toEqual(new Set(['task_status']));
  });

  test('33: and one that asks on the way', async () => {
    const { call } = await host((errand) =>
      errand.tool('cook', { description: 'Cooks a stew' }, async (_, task) => {
        await task.sleep('5m');
        const schema = z.object({ salt: z.boolean() });
        const { content } = await task.elicit('salt', { message: 'With salt?', schema });
        await task.sleep('5m');
        return content?.salt ? 'a stew' : 'a bland stew';
      }),
    );
    const answers = { salt: { action: 'accept', content: { salt: true } } };
    const { result, calls } = await asTold(call, await call('cook'), answers);
    expect(textOf(result)).toBe('a stew');
    expect(calls.filter((name) => name === 'task_answer')).toHaveLength(1);
  });

  test('33: and has one that ends within its time answered as ever', async () => {
    const { call } = await host((errand) =>
      errand.tool('toast', { description: 'Makes toast' }, async (_, task) => {
        await task.sleep('40s');
        return 'toast';
      }),
    );
    const { calls, result } = await asTold(call, await call('toast'));
    expect(textOf(result)).toBe('toast');
    expect(calls).toEqual([]);
  });
});
