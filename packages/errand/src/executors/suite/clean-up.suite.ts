import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Errand } from '../../errand.ts';
import type { JsonObject } from '../../json.ts';
import { begin, delay, makeBed, soon, type Disk } from './bed.suite.ts';

/** A tool that opens something, ends as it is told to, and closes what it opened. */
function opener(closed: JsonObject[], options: { breaks?: () => boolean; task?: 'always' | 'auto' } = {}) {
  return (errand: Errand): unknown =>
    errand.tool(
      'open',
      {
        task: options.task ?? 'always',
        deadline: '2s',
        inputSchema: z.object({ then: z.enum(['return', 'throw', 'ask']) }),
        retry: { attempts: 3, backoff: 10, when: ({ message }) => message.includes('door') },
        async onEnd(end, task) {
          const { status, result, error } = end;
          const text = (result?.content[0] as { text?: string } | undefined)?.text;
          const saw = { id: task.id, status, then: end.arguments['then']!, says: text ?? error?.message ?? null };
          await task.step('close', () => {
            if (options.breaks?.()) throw new Error('the door is stuck');
            closed.push(saw);
          });
        },
      },
      async ({ then }, task) => {
        await task.step('open', () => 'opened');
        if (then === 'throw') throw new Error('broken');
        if (then === 'ask') await task.elicit('go', { message: 'Go?', schema: z.object({ go: z.boolean() }) });
        return 'done';
      },
    );
}

/** What is done when a task has ended. */
export function cleanUpSuite(openDisk: () => Disk): void {
  describe('a clean-up', () => {
    it.for<[string, JsonObject]>([
      ['return', { status: 'completed', says: 'done' }],
      ['throw', { status: 'completed', says: 'broken' }],
    ])('comes once after a handler that ends by %s, and knows how', async ([then, how], t) => {
      const bed = await makeBed(openDisk(), t);
      const closed: JsonObject[] = [];
      const { client } = await bed.server(opener(closed));
      const id = await begin(client, 'open', { then });
      await soon(() => closed.length > 0);
      await delay(50);
      expect(closed).toEqual([{ id, then, ...how }]);
    });

    it('comes after a cancel, which waits for nothing', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const closed: JsonObject[] = [];
      const { client } = await bed.server(opener(closed));
      const id = await begin(client, 'open', { then: 'ask' });
      await client.cancel(id);
      await soon(() => closed.length > 0);
      expect(closed).toEqual([{ id, then: 'ask', status: 'cancelled', says: null }]);
    });

    it('comes after the deadline', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const closed: JsonObject[] = [];
      const { client } = await bed.server(opener(closed));
      const id = await begin(client, 'open', { then: 'ask' });
      bed.advance(3000);
      await soon(() => closed.length > 0);
      expect(closed).toMatchObject([{ id, status: 'failed', says: expect.stringContaining('deadline') }]);
    });

    it('is not lost in a crash, and is tried again where it fails', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const closed: JsonObject[] = [];
      let tries = 0;
      const define = opener(closed, { breaks: () => ++tries < 3 });
      const first = await bed.server(define);
      const id = await begin(first.client, 'open', { then: 'ask' });
      await first.client.cancel(id);
      first.store.crash();
      await bed.server(define);
      await soon(() => closed.length > 0);
      expect(closed).toMatchObject([{ id, status: 'cancelled' }]);
      expect(tries).toBeGreaterThanOrEqual(3);
    });

    it('comes also after a call that was answered before there was a task', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const closed: JsonObject[] = [];
      const { client } = await bed.server(opener(closed, { task: 'auto' }));
      expect(await client.call('open', { then: 'return' })).toMatchObject({ content: [{ text: 'done' }] });
      await soon(() => closed.length > 0);
      expect(closed).toMatchObject([{ status: 'completed', says: 'done' }]);
    });

    it('is told plainly that it can ask nobody, and begin no subtasks', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const refused: unknown[] = [];
      const { client } = await bed.server((errand) =>
        errand.tool(
          'open',
          {
            task: 'always',
            async onEnd(_, task) {
              const form = { message: 'Go?', schema: z.object({ go: z.boolean() }) };
              await task.elicit('go', form).catch((error: Error) => refused.push(error.message));
              await Promise.resolve()
                .then(() => task.subtask('again', 'open'))
                .catch((error: Error) => refused.push(error.message));
            },
          },
          (_, task) => `opened ${task.id.length > 0}`,
        ),
      );
      await begin(client, 'open');
      await soon(() => refused.length === 2);
      expect(refused).toEqual([
        'the question "go": onEnd can ask nobody, as its task has ended',
        'subtask "again": onEnd begins no subtasks, as its task has ended',
      ]);
    });

    it('is no client’s: nobody lists, reads or counts it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(opener([], { breaks: () => true }));
      const id = await begin(client, 'open', { then: 'return' });
      await client.until(id, 'completed');
      const { cleanUp } = (await bed.disk.read(id))!;
      await soon(async () => (await bed.disk.read(cleanUp!)) !== undefined);
      await expect(client.read(cleanUp!)).rejects.toMatchObject({ code: -32602 });
      expect(await bed.disk.live('anonymous')).toBe(0);
      expect((await bed.disk.list('anonymous', { limit: 10 })).map((task) => task.id)).toEqual([id]);
    });
  });
}
