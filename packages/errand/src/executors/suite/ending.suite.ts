import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ErrandError, RpcError } from '../../errors.ts';
import { jsonSchema } from '../../schema.ts';
import type { ToolResult } from '../../task/task.ts';
import { begin, delay, makeBed, PATIENCE, resultOf, soon, type Define, type Disk } from './bed.suite.ts';

const GO = z.object({ go: z.boolean() });

/** How tasks end, on any executor. */
export function endingSuite(openDisk: () => Disk): void {
  describe('a cancel', () => {
    it('is on disk before signals abort, and what comes later changes nothing (CASES 12, 23)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const seen: string[] = [];
      let finish!: () => void;
      const { client } = await bed.server((errand) =>
        errand.tool('work', { task: 'always' }, async (_, task) => {
          const note = (what: string) => async (): Promise<void> => {
            seen.push(`${what} ${(await bed.disk.read(task.id))!.status}`);
          };
          task.signal.addEventListener('abort', () => void note('run')());
          await task.step('long', ({ signal }) => {
            signal.addEventListener('abort', () => void note('step')());
            return new Promise<void>((resolve) => (finish = resolve));
          });
          seen.push('went on');
          return 'late';
        }),
      );
      const id = await begin(client, 'work');
      await soon(() => finish !== undefined);
      await client.cancel(id);
      await soon(() => seen.length === 2);
      expect(seen.sort()).toEqual(['run cancelled', 'step cancelled']);
      finish();
      await delay(50);
      expect(await client.read(id)).toMatchObject({ status: 'cancelled' });
      await client.cancel(id); // acknowledged once more
      expect(seen).toHaveLength(2);
      expect((await bed.disk.journal(id)).filter(({ type }) => type === 'end')).toEqual([]);
    });

    it('of a finished task leaves its result (CASES 12)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) => errand.tool('work', { task: 'always' }, () => 'done'));
      const id = await begin(client, 'work');
      expect(await resultOf(client, id)).toBe('done');
      const before = await client.read(id);
      await client.cancel(id);
      expect(await client.read(id)).toEqual(before);
    });

    it('of a task that waits for a slot keeps it from ever running', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const ran: string[] = [];
      let finish!: () => void;
      const { client } = await bed.server(
        (errand) =>
          errand.tool('work', { task: 'always', inputSchema: z.object({ n: z.string() }) }, async ({ n }, task) => {
            await task.step('work', () => {
              ran.push(n);
              return n === 'first' ? new Promise<void>((resolve) => (finish = resolve)) : undefined;
            });
            return n;
          }),
        { concurrency: 1 },
      );
      const first = await begin(client, 'work', { n: 'first' });
      await soon(() => ran.length === 1);
      const second = await begin(client, 'work', { n: 'second' });
      const third = await begin(client, 'work', { n: 'third' });
      await client.cancel(second);
      finish();
      expect(await resultOf(client, first)).toBe('first');
      expect(await resultOf(client, third)).toBe('third');
      expect(ran).toEqual(['first', 'third']);
    });

    it('of a task that is about to run keeps it from running', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let checks = 0;
      let runs = 0;
      let open!: () => void;
      const gate = new Promise<void>((resolve) => (open = resolve));
      const object = jsonSchema({ type: 'object' })['~standard'];
      const validate: typeof object.validate = async (value) => {
        if (++checks === 2) await gate; // once when it is called, and once more before it runs
        return object.validate(value);
      };
      const slowly = { '~standard': { ...object, validate } };
      const { client } = await bed.server((errand) =>
        errand.tool('work', { task: 'always', inputSchema: slowly }, () => `run ${++runs}`),
      );
      const id = await begin(client, 'work', { name: 'a' });
      await soon(() => checks === 2);
      await client.cancel(id);
      open();
      await delay(50);
      expect(runs).toBe(0);
      expect(await client.read(id)).toMatchObject({ status: 'cancelled' });
    });

    it('races with the end of the work, and one of them wins for all', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('work', { task: 'always' }, async (_, task) => {
          await task.step('short', () => delay(3));
          return 'done';
        }),
      );
      const ends = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const id = await begin(client, 'work');
          await delay(index % 8);
          await client.cancel(id);
          const first = await client.until(id, ['completed', 'cancelled'], PATIENCE);
          await delay(20);
          expect(await client.read(id)).toEqual(first);
          return first['status'];
        }),
      );
      expect(new Set(ends).size).toBeGreaterThan(0);
    });
  });

  describe('a deadline', () => {
    const slow: Define = (errand) => {
      errand.tool('work', { task: 'always', deadline: '300ms' }, async (_, task) => {
        await task.step('long', ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)));
        return 'never';
      });
      errand.tool('wait', { task: 'always', deadline: '1h' }, async (_, task) => {
        await task.elicit('go', { message: 'Go?', schema: GO });
        return 'never';
      });
    };

    it('ends a task that works as failed, with the reason, and aborts its signals (CASES 8)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(slow);
      const id = await begin(client, 'work');
      const failed = await client.until(id, 'failed', PATIENCE);
      const { deadlineAt, createdAt, lastUpdatedAt } = (await bed.disk.read(id))!;
      const message = `the deadline passed (${new Date(deadlineAt).toISOString()}) before the work ended`;
      expect(failed).toMatchObject({ statusMessage: message, error: { code: -31010, message } });
      expect(deadlineAt - createdAt).toBe(300);
      expect(lastUpdatedAt).toBeGreaterThanOrEqual(deadlineAt);
    });

    it('ends a task that waits, and withdraws its questions', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(slow);
      const id = await begin(client, 'wait');
      await client.until(id, 'input_required', PATIENCE);
      bed.advance(3_600_000);
      await client.until(id, 'failed', PATIENCE);
      expect((await bed.disk.read(id))!.inputs['go']!.state).toBe('withdrawn');
    });

    it('that passed while no server was there is kept by the next one', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const first = await bed.server(slow);
      const id = await begin(first.client, 'wait');
      await first.client.until(id, 'input_required', PATIENCE);
      first.store.crash();
      bed.advance(3_600_000);
      const second = await bed.server(slow);
      expect(await second.client.until(id, 'failed', PATIENCE)).toMatchObject({ error: { code: -31010 } });
    });
  });

  describe('a finished task', () => {
    it('can be read until its ttl has passed, and then it is gone with all that belonged to it (CASES 10)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('work', { task: 'always', deadline: '1h', retention: '1h' }, async (_, task) =>
          task.step('a', () => 'done'),
        ),
      );
      const id = await begin(client, 'work');
      await resultOf(client, id);
      expect(await client.read(id)).toMatchObject({ ttlMs: 7_200_000 });
      bed.advance(7_100_000);
      expect(await client.read(id)).toMatchObject({ status: 'completed', ttlMs: 7_200_000 });
      bed.advance(100_000);
      await expect(client.read(id)).rejects.toMatchObject({ code: -32602 });
      await soon(async () => (await bed.disk.read(id)) === undefined);
      expect(await bed.disk.journal(id)).toEqual([]);
    });
  });

  describe('what a handler gives', () => {
    const given: Record<string, () => unknown> = {
      text: () => 'plain',
      result: () => ({
        content: [{ type: 'text', text: 'a' }],
        structuredContent: { at: new Date(0) },
        _meta: { x: 1 },
      }),
      refusal: () => ({ content: [{ type: 'text', text: 'no' }], isError: true }),
      error: () => {
        throw new Error('broken');
      },
      rpc: () => {
        throw new RpcError(-32050, 'mine', { why: 'because' });
      },
      own: () => {
        throw new ErrandError('overloaded', 'come back later');
      },
      text_thrown: () => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error
        throw 'a text';
      },
      nothing: () => undefined,
      no_json: () => ({ content: [], structuredContent: { f: () => 1 } }),
      no_content: () => ({ content: 'text' }),
    };
    const define: Define = (errand) => {
      for (const [name, give] of Object.entries(given)) {
        errand.tool(name, { task: 'always' }, async (_, task) => {
          await task.step('before', () => null);
          return give() as ToolResult;
        });
      }
      errand.tool('rethrown', { task: 'always' }, async (_, task) =>
        task.step('fails', (): string => {
          throw new RpcError(-32051, 'from a step', [1]);
        }),
      );
      const shape = { outputSchema: z.object({ n: z.number() }) };
      errand.tool('shaped', { task: 'always', ...shape }, () => ({ content: [], structuredContent: { n: 1 } }));
      errand.tool('misshaped', { task: 'always', ...shape }, () => ({ content: [], structuredContent: { n: 'x' } }));
      errand.tool('shapeless', { task: 'always', ...shape }, () => 'text');
      errand.tool('shape_refused', { task: 'always', ...shape }, () => ({ content: [], isError: true }));
    };

    it('is what the task comes to', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(define);
      const came: Record<string, unknown> = {};
      await Promise.all(
        [...Object.keys(given), 'rethrown', 'shaped', 'misshaped', 'shapeless', 'shape_refused'].map(async (tool) => {
          const task = await client.until(await begin(client, tool), ['completed', 'failed'], PATIENCE);
          const { resultType: _, ...result } = (task['result'] ?? task['error']) as Record<string, unknown>;
          came[tool] = result;
          expect(task['status']).toBe('code' in result ? 'failed' : 'completed');
          expect(task['statusMessage']).toBe(result['message']);
        }),
      );
      const text = (text: string, isError = false): unknown => ({
        content: [{ type: 'text', text }],
        ...(isError ? { isError } : {}),
      });
      expect(came).toEqual({
        text: text('plain'),
        result: { ...(text('a') as object), structuredContent: { at: '1970-01-01T00:00:00.000Z' }, _meta: { x: 1 } },
        refusal: text('no', true),
        error: text('broken', true),
        rpc: { code: -32050, message: 'mine', data: { why: 'because' } },
        own: { code: -31002, message: 'come back later' },
        text_thrown: text('a text', true),
        nothing: internal('the result of tool "nothing" is neither a text nor an object with a content list'),
        no_json: text('the result of tool "no_json": structuredContent.f is a function, which is no JSON', true),
        no_content: internal('the result of tool "no_content" is neither a text nor an object with a content list'),
        rethrown: { code: -32051, message: 'from a step', data: [1] },
        shaped: { content: [], structuredContent: { n: 1 } },
        misshaped: internal(
          expect.stringMatching(/^the structuredContent of tool "misshaped" does not fit its outputSchema: n: /),
        ),
        shapeless: internal('the structuredContent of tool "shapeless" is missing, but the tool has an outputSchema'),
        shape_refused: { content: [], isError: true },
      });
    });
  });

  describe('a status text', () => {
    it('is shown soon; of many the last one, also when the work ends at once', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let go!: () => void;
      const { client } = await bed.server((errand) =>
        errand.tool('work', { task: 'always' }, async (_, task) => {
          await task.step('before', () => null);
          for (let n = 0; n < 1000; n++) task.status(`part ${n}`);
          await task.step('work', () => new Promise<void>((resolve) => (go = resolve)));
          task.status('nearly');
          task.status('done');
          return 'done';
        }),
      );
      const id = await begin(client, 'work');
      await soon(async () => (await client.read(id))['statusMessage'] === 'part 999');
      // They were merged: far fewer writes than texts.
      expect((await bed.disk.read(id))!.version).toBeLessThan(20);
      go();
      await resultOf(client, id);
      expect(await client.read(id)).toMatchObject({ statusMessage: 'done' });
    });

    it('that was shown before a crash stays, and one that was lost is shown by the next run', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let dying = true;
      const define: Define = (errand) =>
        errand.tool('work', { task: 'always' }, async (_, task) => {
          task.status('first');
          await task.step('a', () => null);
          await task.step('b', () => null);
          task.status('second');
          if (dying) await new Promise(() => undefined);
          else await task.sleep('10m');
          return 'done';
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'work');
      await soon(async () => (await bed.disk.journal(id)).length === 4);
      first.store.crash();
      dying = false;
      const second = await bed.server(define);
      await soon(async () => (await second.client.read(id))['statusMessage'] === 'second');
    });

    it('is a text', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('work', { task: 'always' }, async (_, task) => {
          task.status(5 as never);
          return 'never';
        }),
      );
      expect(await resultOf(client, await begin(client, 'work'))).toBe('status: the message is a text');
    });
  });
}

function internal(message: unknown): unknown {
  return { code: -32603, message };
}
