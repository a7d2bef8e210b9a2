import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { leavingClient } from '../executors/suite/bed.suite.ts';
import type { JsonObject } from '../json.ts';
import type { Define, TestErrandOptions } from '../testing/test-errand.ts';
import { up } from '../testing/up.suite.ts';
import { virtualClock } from '../testing/virtual-clock.ts';

const GO = z.object({ go: z.boolean() });
const yes = { action: 'accept', content: { go: true } };

/** A server whose time the test turns, with a client that takes no tasks and cannot be asked anything. */
async function host(define: Define, options: TestErrandOptions = {}, capabilities: JsonObject = {}) {
  const clock = virtualClock();
  const t = await up(define, { clock, ...options });
  return { clock, t, client: t.clientAs({ tasks: false, capabilities }) };
}

/** What is known of a call so far. */
function watched(call: Promise<JsonObject>) {
  const state: { result?: JsonObject } = {};
  void call.then((result) => (state.result = result));
  return state;
}

const words = (result: JsonObject): string =>
  (result['content'] as JsonObject[]).map((block) => block['text'] as string).join('\n');
const handleOf = (result: JsonObject) => result['structuredContent'] as JsonObject & { taskId: string };

describe('a call of a client that takes no tasks', () => {
  it('is held for 45 s, then handed off, and its work goes on', async () => {
    let effects = 0;
    const { clock, client } = await host((errand) =>
      errand.tool('work', {}, async (_, task) => {
        task.status('digging');
        await task.step('dig', async () => {
          effects++;
          await clock.sleep('10m');
        });
        return 'dug';
      }),
    );
    const call = client.call('work');
    const state = watched(call);
    await clock.advance(44_999);
    expect(state.result).toBeUndefined();
    await clock.advance(1);
    const result = await call;
    const { taskId } = handleOf(result);
    expect(result).toMatchObject({
      resultType: 'complete',
      structuredContent: { status: 'working', statusMessage: 'digging' },
    });
    expect(result).not.toHaveProperty('isError');
    expect(words(result)).toMatch(/digging.*task_status.*taskId/);
    expect(words(result)).toContain(taskId);
    await clock.advance('10m');
    expect(await client.call('task_status', { taskId })).toMatchObject({ content: [{ text: 'dug' }] });
    expect(effects).toBe(1);
  });

  it('is answered as ever when it ends while it is held', async () => {
    const { clock, client, t } = await host((errand) =>
      errand.tool('work', {}, async (_, task) => {
        await task.sleep('44s');
        return { content: [{ type: 'text', text: 'done' }], structuredContent: { n: 1 } };
      }),
    );
    const call = client.call('work');
    await clock.advance('44s');
    expect(await call).toMatchObject({ content: [{ text: 'done' }], structuredContent: { n: 1 } });
    expect(await t.clientAs({}).call('task_status', { taskId: 'none' })).toMatchObject({ isError: true });
  });

  it.each<[string, object, object, string]>([
    ['as long as the tool says', {}, { holdFor: '2s' }, '2s'],
    ['as long as the server says', { holdFor: '3s' }, {}, '3s'],
    ['not at all where the tool says so', {}, { withoutTasks: 'handoff' }, '0s'],
    ['not at all where the server says so', { withoutTasks: 'handoff' }, {}, '0s'],
  ])('is held %s', async (_, server, tool, holdFor) => {
    const define: Define = (errand) =>
      errand.tool('work', tool, async (_, task) => {
        await task.sleep('1h');
        return 'done';
      });
    const { clock, client } = await host(define, server);
    const call = client.call('work');
    const state = watched(call);
    if (holdFor !== '0s') {
      await clock.advance(Number.parseInt(holdFor) * 1000 - 1);
      expect(state.result).toBeUndefined();
      await clock.advance(1);
    }
    expect(handleOf(await call)).toMatchObject({ status: 'working' });
  });

  it('that is handed off at once is answered with the result all the same where that is there at once', async () => {
    const { client } = await host((errand) =>
      errand.tool('quick', { withoutTasks: 'handoff' }, async (_, _task) => 'here'),
    );
    expect(words(await client.call('quick'))).toBe('here');
  });

  it('is held until it ends where nothing is handed off', async () => {
    const { clock, client } = await host((errand) =>
      errand.tool('work', { holdFor: Infinity, deadline: '2d' }, async (_, task) => {
        await task.sleep('1d');
        return 'done';
      }),
    );
    const call = client.call('work');
    await clock.advance('1d');
    expect(words(await call)).toBe('done');
  });

  it('that outlasts a crash once it was handed off is found again', async () => {
    const { clock, client, t } = await host((errand) =>
      errand.tool('work', { withoutTasks: 'handoff' }, async (_, task) => {
        await task.sleep('1h');
        return 'done';
      }),
    );
    const { taskId } = handleOf(await client.call('work'));
    await t.crash();
    await t.restart();
    await clock.advance('1h');
    expect(words(await client.call('task_status', { taskId }))).toBe('done');
  });
});

describe('a question of a held call', () => {
  const asks: Define = (errand) =>
    errand.tool('publish', {}, async (_, task) => {
      const { content } = await task.elicit('approve', { message: 'Publish it?', schema: GO });
      return content?.go ? 'published' : 'not published';
    });

  it('is asked by the call where the client can be asked', async () => {
    const { client } = await host(asks, {}, { elicitation: {} });
    const asked = await client.call('publish');
    expect(asked).toMatchObject({ resultType: 'input_required', inputRequests: { approve: {} } });
    const { requestState } = asked;
    const again = { inputResponses: { approve: yes }, requestState: requestState! };
    expect(words(await client.call('publish', {}, again))).toBe('published');
  });

  it('causes the hand-off where the client cannot be asked', async () => {
    const { client } = await host(asks);
    const asked = await client.call('publish');
    const { taskId } = handleOf(asked);
    expect(asked).toMatchObject({
      resultType: 'complete',
      structuredContent: { status: 'input_required', next: { tool: 'task_answer', arguments: { taskId } } },
    });
    expect(words(asked)).toMatch(/"approve": Publish it\?/);
    expect(words(asked)).toMatch(/Ask the user.*task_answer/);
    await client.call('task_answer', { taskId, answers: { approve: yes } });
    expect(words(await client.call('task_status', { taskId }))).toBe('published');
  });

  it('causes it too where the client cannot be asked of that kind', async () => {
    const { client } = await host(
      (errand) =>
        errand.tool('pay', {}, async (_, task) => {
          const { action } = await task.elicit('page', { message: 'Pay here.', url: 'https://pay.example' });
          return action;
        }),
      {},
      { elicitation: { form: {} } },
    );
    const asked = await client.call('pay');
    expect(words(asked)).toContain('https://pay.example');
    const { taskId } = handleOf(asked);
    await client.call('task_answer', { taskId, answers: { page: { action: 'accept' } } });
    expect(words(await client.call('task_status', { taskId }))).toBe('accept');
  });

  it('fails the call with -32021 where nothing is handed off', async () => {
    const { client } = await host((errand) =>
      errand.tool('publish', { holdFor: Infinity }, async (_, task) => {
        expect(task.can('elicitation')).toBe(false);
        await task.elicit('approve', { message: 'Publish it?', schema: GO });
        return 'published';
      }),
    );
    await expect(client.call('publish')).rejects.toMatchObject({ code: -32021 });
  });

  it('is not put to a model that was not declared', async () => {
    const { client } = await host((errand) =>
      errand.tool('sum-up', {}, async (_, task) => {
        expect([task.can('elicitation'), task.can('sampling'), task.can('roots')]).toEqual([true, false, false]);
        await task.sample('sum', { messages: [], maxTokens: 10 });
        return 'never';
      }),
    );
    await expect(client.call('sum-up')).rejects.toMatchObject({ code: -32021 });
  });

  it('gives the next round its own time to be held', async () => {
    const { clock, client } = await host(
      (errand) =>
        errand.tool('publish', {}, async (_, task) => {
          await task.sleep('30s');
          await task.elicit('approve', { message: 'Publish it?', schema: GO });
          await task.sleep('1h');
          return 'published';
        }),
      {},
      { elicitation: {} },
    );
    const first = client.call('publish');
    await clock.advance('30s');
    const { requestState } = await first;
    const second = client.call('publish', {}, { inputResponses: { approve: yes }, requestState: requestState! });
    const state = watched(second);
    await clock.advance(44_999);
    expect(state.result).toBeUndefined();
    await clock.advance(1);
    const { taskId } = handleOf(await second);
    await clock.advance('1h');
    expect(words(await client.call('task_status', { taskId }))).toBe('published');
  });
});

describe('a held call that its client takes back', () => {
  it('ends its work while it is held, and not once it was handed off', async () => {
    const ended: string[] = [];
    const { clock, client, t } = await host((errand) =>
      errand.tool('work', {}, async (_, task) => {
        task.signal.addEventListener('abort', () => ended.push('aborted'));
        await task.sleep('1h');
        ended.push('done');
        return 'done';
      }),
    );
    const early = leavingClient(t.errand, { tasks: false });
    void early.call('work', {});
    await clock.advance('44s');
    early.leave();
    await clock.settle();
    expect(ended).toEqual(['aborted']);

    const late = leavingClient(t.errand, { tasks: false });
    const answered = late.call('work', {});
    await clock.advance('45s');
    const result = (await answered)!;
    late.leave();
    await clock.advance('1h');
    expect(ended).toEqual(['aborted', 'done']);
    expect(words(await client.call('task_status', { taskId: handleOf(result).taskId }))).toBe('done');
  });
});

describe('a held call, when the server closes,', () => {
  const sleepsOnceItDug = (effects: string[], options: object = {}): Define => {
    return (errand) =>
      errand.tool('work', options, async (_, task) => {
        await task.step('dig', () => effects.push('dug'));
        await task.sleep('1h');
        return 'done';
      });
  };

  it('is handed off, and its work goes on where it was after the restart', async () => {
    const effects: string[] = [];
    const { clock, client, t } = await host(sleepsOnceItDug(effects));
    const call = client.call('work');
    await clock.advance('1s');
    await t.errand.close();
    const { taskId } = handleOf(await call);
    await t.restart();
    await clock.advance('1h');
    expect(words(await client.call('task_status', { taskId }))).toBe('done');
    expect(effects).toEqual(['dug']);
  });

  it('is refused where it must not be handed off, or could not be gone on with', async () => {
    const { clock, client, t } = await host((errand) => {
      sleepsOnceItDug([], { holdFor: Infinity })(errand);
      errand.tool('short', {}, () => clock.sleep('1h').then(() => 'done'));
    });
    const calls = ['work', 'short'].map((name) => client.request('tools/call', { name, arguments: {} }));
    await clock.advance('1s');
    await t.errand.close();
    for (const call of calls) expect(await call).toMatchObject({ error: { code: -31003 } });
  });

  it('of task_status is answered with how the task stands', async () => {
    const { clock, client, t } = await host(sleepsOnceItDug([], { withoutTasks: 'handoff' }));
    const { taskId } = handleOf(await client.call('work'));
    const status = client.call('task_status', { taskId });
    await clock.advance('1s');
    await t.errand.close();
    expect(handleOf(await status)).toMatchObject({ taskId, status: 'working' });
  });
});
