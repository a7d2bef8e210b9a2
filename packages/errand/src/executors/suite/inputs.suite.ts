import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { InputTimeout, InputWithdrawn } from '../../engine/failures.ts';
import type { JsonObject } from '../../json.ts';
import { begin, delay, makeBed, PATIENCE, resultOf, soon, type Define, type Disk } from './bed.suite.ts';

const GO = z.object({ go: z.boolean() });
const accept = (content: JsonObject): JsonObject => ({ action: 'accept', content });

function keysOf(task: JsonObject): string[] {
  return Object.keys((task['inputRequests'] ?? {}) as JsonObject);
}

/** What questions promise, on any executor. */
export function inputSuite(openDisk: () => Disk): void {
  describe('two questions at once', () => {
    it('keep the task at input_required until both are answered; each branch goes on by itself (CASES 21)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const went: string[] = [];
      const { client } = await bed.server((errand) =>
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          const branch = async (key: string): Promise<void> => {
            await task.elicit(key, { message: key, schema: GO });
            await task.step(`after ${key}`, () => went.push(key));
          };
          await Promise.all([branch('a'), branch('b')]);
          return went.join();
        }),
      );
      const id = await begin(client, 'ask');
      const both = await client.until(id, 'input_required', PATIENCE);
      expect(keysOf(both)).toEqual(['a', 'b']);
      await client.answer(id, { b: accept({ go: true }) });
      const one = await client.read(id);
      expect([one['status'], keysOf(one)]).toEqual(['input_required', ['a']]);
      await soon(() => went.length === 1);
      expect(went).toEqual(['b']);
      expect(await client.read(id)).toMatchObject({ status: 'input_required' });
      await client.answer(id, { a: accept({ go: true }) });
      expect(await resultOf(client, id)).toBe('b,a');
    });
  });

  describe('an answer', () => {
    const deciding: Define = (errand) =>
      errand.tool('decide', { task: 'always' }, async (_, task) => {
        const { action, content } = await task.elicit('go', {
          message: 'Go?',
          schema: z.object({
            go: z.boolean(),
            times: z.coerce.number().default(1),
            note: z.string().min(2).optional(),
          }),
        });
        return JSON.stringify([action, content]);
      });

    it('counts once: the first one wins, and later ones are ignored, as are unknown keys (CASES 17, 19)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(deciding);
      const id = await begin(client, 'decide');
      await client.until(id, 'input_required', PATIENCE);
      await Promise.all([
        client.answer(id, { elsewhere: accept({}), go: accept({ go: true }) }),
        client.answer(id, { go: accept({ go: false }) }),
        client.answer(id, { go: { action: 'decline' } }),
      ]);
      expect(await resultOf(client, id)).toBe('["accept",{"go":true,"times":1}]');
      await client.answer(id, { go: { action: 'cancel' } });
    });

    it('that does not fit its question is refused whole, with its place, and the question stays open', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) => {
        deciding(errand);
        errand.tool('both', { task: 'always' }, async (_, task) => {
          await Promise.all([
            task.elicit('a', { message: 'a', schema: GO }),
            task.elicit('b', { message: 'b', schema: GO }),
          ]);
          return 'both';
        });
      });
      const id = await begin(client, 'decide');
      await client.until(id, 'input_required', PATIENCE);
      await expect(client.answer(id, { go: accept({ go: true, note: 'x' }) })).rejects.toMatchObject({
        code: -32602,
        data: { key: 'go', path: 'inputResponses["go"].content.note' },
      });
      expect(await client.read(id)).toMatchObject({ status: 'input_required' });
      await client.answer(id, { go: accept({ go: true, note: 'xx' }) });
      expect(await resultOf(client, id)).toBe('["accept",{"go":true,"times":1,"note":"xx"}]');
      const two = await begin(client, 'both');
      await client.until(two, 'input_required', PATIENCE);
      await expect(client.answer(two, { a: accept({ go: true }), b: accept({ go: 'no' }) })).rejects.toThrow(
        /inputResponses\["b"\]/,
      );
      expect(keysOf(await client.read(two))).toEqual(['a', 'b']);
    });

    it('that was acknowledged reaches the handler once, also when the server dies right then (CASES 17)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const got: unknown[] = [];
      const define: Define = (errand) =>
        errand.tool('decide', { task: 'always' }, async (_, task) => {
          const answer = await task.elicit('go', { message: 'Go?', schema: GO });
          await task.step('use', () => got.push(answer.content));
          return JSON.stringify(answer.content);
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'decide');
      await first.client.until(id, 'input_required', PATIENCE);
      first.store.crashAt(1, 'after');
      // The answer is on disk, and nobody in the dying server hears of it.
      void first.client.answer(id, { go: accept({ go: true }) });
      await soon(async () => (await bed.disk.read(id))!.inputs['go']?.state === 'answered');
      const second = await bed.server(define);
      expect(await resultOf(second.client, id)).toBe('{"go":true}');
      expect(got).toEqual([{ go: true }]);
    });

    it('reads as the schema reads it in every run', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(deciding);
      const id = await begin(client, 'decide');
      await client.until(id, 'input_required', PATIENCE);
      await client.answer(id, { go: { action: 'decline' } });
      expect(await resultOf(client, id)).toBe('["decline",null]');
    });
  });

  describe('a question with a time limit', () => {
    it('is withdrawn when the time is over, and the handler can catch that, in every run', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const caught: unknown[] = [];
      let dying = true;
      const define: Define = (errand) =>
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          const error: unknown = await task
            .elicit('go', { message: 'Go?', schema: GO, timeout: 50 })
            .catch((error: unknown) => error);
          caught.push([error instanceof InputTimeout, String(error)]);
          if (dying) await new Promise(() => undefined);
          return 'nobody there';
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'ask');
      await soon(() => caught.length === 1);
      expect(await first.client.read(id)).toMatchObject({ status: 'working' });
      await first.client.answer(id, { go: accept({ go: true }) }); // too late
      first.store.crash();
      dying = false;
      const second = await bed.server(define);
      expect(await resultOf(second.client, id)).toBe('nobody there');
      const timeout = [true, 'InputTimeout: nobody answered the question "go" in time'];
      expect(caught).toEqual([timeout, timeout]);
      expect((await bed.disk.read(id))!.inputs['go']!.state).toBe('withdrawn');
    });

    it('that is answered in time is not withdrawn later', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          const { action } = await task.elicit('go', { message: 'Go?', schema: GO, timeout: 1500 });
          await task.step('past the limit', () => delay(1600));
          return action;
        }),
      );
      const id = await begin(client, 'ask');
      await client.until(id, 'input_required', PATIENCE);
      await client.answer(id, { go: accept({ go: true }) });
      expect(await resultOf(client, id)).toBe('accept');
      expect((await bed.disk.read(id))!.inputs['go']!.state).toBe('answered');
    });
  });

  describe('a question that its signal withdraws', () => {
    it('is closed for the client, and the handler goes on, in every run', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const results: string[] = [];
      let dying = true;
      const define: Define = (errand) =>
        errand.tool('race', { task: 'always' }, async (_, task) => {
          const lost = new AbortController();
          const asked = task
            .elicit('slow', { message: 'slow', schema: GO, signal: lost.signal })
            .catch((error: unknown) => (error instanceof InputWithdrawn ? 'withdrawn' : String(error)));
          const first = await Promise.race([asked, task.elicit('quick', { message: 'quick', schema: GO })]);
          lost.abort();
          const aborted = AbortSignal.abort();
          const never = await task
            .elicit('never', { message: 'never', schema: GO, signal: aborted })
            .catch((error: Error) => error.name);
          results.push(JSON.stringify([first, await asked, never]));
          if (dying) await new Promise(() => undefined);
          return results.at(-1)!;
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'race');
      await first.client.until(id, 'input_required', PATIENCE);
      await first.client.answer(id, { quick: accept({ go: true }) });
      await soon(() => results.length === 1);
      expect(await first.client.read(id)).toMatchObject({ status: 'working' });
      await first.client.answer(id, { slow: accept({ go: true }) }); // ignored
      first.store.crash();
      dying = false;
      const second = await bed.server(define);
      expect(await resultOf(second.client, id)).toBe(
        '[{"action":"accept","content":{"go":true}},"withdrawn","InputWithdrawn"]',
      );
      expect(results[1]).toBe(results[0]);
    });

    it('but was answered before is answered, and leaves no trace of the signal', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          const after = new AbortController();
          const { action } = await task.elicit('go', { message: 'Go?', schema: GO, signal: after.signal });
          after.abort();
          await task.step('later', () => null);
          return action;
        }),
      );
      const id = await begin(client, 'ask');
      await client.until(id, 'input_required', PATIENCE);
      await client.answer(id, { go: accept({ go: true }) });
      expect(await resultOf(client, id)).toBe('accept');
      const journal = await bed.disk.journal(id);
      expect(journal.map((entry) => (entry.type === 'begin' ? entry.kind : 'end'))).toEqual([
        'input',
        'end',
        'step',
        'end',
      ]);
    });

    it('at the very moment of its answer is either answered or withdrawn, as the client saw it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const aborts = new Map<string, AbortController>();
      const { client } = await bed.server((errand) =>
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          const { signal } = aborts.set(task.id, new AbortController()).get(task.id)!;
          return await task.elicit('go', { message: 'Go?', schema: GO, signal }).then(
            () => 'answered',
            (error: Error) => (error.name === 'InputWithdrawn' ? 'withdrawn' : String(error)),
          );
        }),
      );
      const ids = await Promise.all(Array.from({ length: 20 }, () => begin(client, 'ask')));
      await Promise.all(ids.map((id) => client.until(id, 'input_required', PATIENCE)));
      await Promise.all(
        ids.map(async (id, index) => {
          const answered = client.answer(id, { go: accept({ go: true }) });
          for (let turn = 0; turn < index % 5; turn++) await new Promise((resolve) => setImmediate(resolve));
          aborts.get(id)!.abort();
          await answered;
          expect(await resultOf(client, id)).toBe((await bed.disk.read(id))!.inputs['go']!.state);
        }),
      );
    });
  });
}
