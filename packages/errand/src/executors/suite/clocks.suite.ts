import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { begin, delay, makeBed, parked, PATIENCE, resultOf, soon, type Define, type Disk } from './bed.suite.ts';

const HOUR = 3_600_000;
const GO = z.object({ go: z.boolean() });
const YES = { action: 'accept', content: { go: true } };

/** What becomes of tasks when the clock of the machine is set while they work and wait. */
export function clockSuite(openDisk: () => Disk): void {
  describe('a clock that jumps an hour', () => {
    const define: Define = (errand) => {
      errand.tool('nap', { task: 'always', inputSchema: z.object({ ms: z.number() }) }, async ({ ms }, task) => {
        await task.sleep(ms);
        return 'rested';
      });
      errand.tool('ask', { task: 'always', deadline: '30m', retention: '3h' }, async (_, task) => {
        const { action } = await task.elicit('go', { message: 'Go?', schema: GO });
        return action;
      });
      errand.tool('work', { task: 'always', deadline: '3h' }, async (_, task) => {
        await task.step('work', () => delay(400));
        return 'worked';
      });
    };

    it('forwards ends waits and deadlines that are over by then, and nothing else', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(define);
      const [nap, ask, done, work] = [
        await begin(client, 'nap', { ms: HOUR / 2 }),
        await begin(client, 'ask'),
        await begin(client, 'ask'),
        await begin(client, 'work'),
      ];
      await client.until(done, 'input_required', PATIENCE);
      await client.answer(done, { go: YES });
      expect(await resultOf(client, done)).toBe('accept');
      await parked(bed, nap);
      bed.advance(HOUR);
      expect(await resultOf(client, nap)).toBe('rested');
      expect(await resultOf(client, work)).toBe('worked');
      expect(await client.until(ask, 'failed', PATIENCE)).toMatchObject({ error: { code: -31010 } });
      // An hour is less than it was to be kept.
      expect(await resultOf(client, done)).toBe('accept');
    });

    it('backwards makes no wait and no deadline longer, and no time that clients see goes back', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(define);
      const [nap, ask, work] = [
        await begin(client, 'nap', { ms: 1500 }),
        await begin(client, 'ask'),
        await begin(client, 'work'),
      ];
      const before = await client.until(ask, 'input_required', PATIENCE);
      bed.advance(-HOUR);
      expect(await resultOf(client, await begin(client, 'nap', { ms: 50 }))).toBe('rested');
      expect(await resultOf(client, nap)).toBe('rested');
      expect(await resultOf(client, work)).toBe('worked');
      await client.answer(ask, { go: YES });
      expect(await resultOf(client, ask)).toBe('accept');
      const { lastUpdatedAt } = await client.read(ask);
      expect(lastUpdatedAt! >= before['lastUpdatedAt']!).toBe(true);
    });

    it('and back, with a restart in between, lets nothing wait that was due', async (t) => {
      const bed = await makeBed(openDisk(), t);
      bed.advance(HOUR);
      const first = await bed.server(define, { concurrency: 1 });
      const ids = [await begin(first.client, 'work'), await begin(first.client, 'work')];
      const ask = await begin(first.client, 'ask');
      await soon(async () => (await bed.disk.read(ids[0]!)) !== undefined);
      first.store.crash();
      bed.advance(-HOUR);
      const second = await bed.server(define);
      for (const id of ids) expect(await resultOf(second.client, id)).toBe('worked');
      await second.client.until(ask, 'input_required', PATIENCE);
      await second.client.answer(ask, { go: YES });
      expect(await resultOf(second.client, ask)).toBe('accept');
    });
  });
}
