import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { JsonObject } from '../../json.ts';
import { testClient } from '../../testing.ts';
import {
  begin,
  delay,
  leavingClient,
  makeBed,
  PATIENCE,
  resultOf,
  soon,
  textOf,
  type Define,
  type Disk,
} from './bed.suite.ts';

const NAME = z.object({ name: z.string() });
const named = (name: string): JsonObject => ({ action: 'accept', content: { name } });

/** How calls are answered: with a result, with a task, or with questions. */
export function callSuite(openDisk: () => Disk): void {
  describe('a call of an auto tool', () => {
    it('is answered with the result where it is quick, and leaves nothing behind (CASES 31)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('work', { inputSchema: z.object({ ms: z.number() }), patience: 1000 }, async ({ ms }, task) => {
          task.status('working');
          await task.step('work', () => delay(ms));
          return `after ${ms}`;
        }),
      );
      const quick = await client.call('work', { ms: 0 });
      expect(quick).toMatchObject({ resultType: 'complete', content: [{ text: 'after 0' }] });
      expect(await bed.disk.due(-Infinity, Infinity)).toEqual([]);
      const id = await begin(client, 'work', { ms: 1300 });
      expect(await resultOf(client, id)).toBe('after 1300');
    });

    it('becomes a task when patience ends, and the same run goes on', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const effects: string[] = [];
      const { client } = await bed.server((errand) =>
        errand.tool('work', { patience: 250 }, async (_, task) => {
          await task.step('quick', () => effects.push('quick'));
          await task.step('slow', () => delay(500).then(() => effects.push('slow')));
          return effects.join();
        }),
      );
      const id = await begin(client, 'work');
      // What it had done by then is in its journal.
      expect(await bed.disk.journal(id)).toMatchObject([{ name: 'quick' }, { begin: 0 }, { name: 'slow' }]);
      expect(await resultOf(client, id)).toBe('quick,slow');
    });

    it('becomes a task at its first question, and at its first sleep', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) => {
        errand.tool('ask', { patience: '1h' }, async (_, task) => {
          const { content } = await task.elicit('who', { message: 'Who?', schema: NAME });
          return `hello ${content?.name}`;
        });
        errand.tool('sleep', { patience: '1h' }, async (_, task) => {
          await task.sleep(20);
          return 'slept';
        });
      });
      const asking = await begin(client, 'ask');
      await client.until(asking, 'input_required', PATIENCE);
      await client.answer(asking, { who: named('Ada') });
      expect(await resultOf(client, asking)).toBe('hello Ada');
      expect(await resultOf(client, await begin(client, 'sleep'))).toBe('slept');
    });

    it('that dies with its server before that leaves nothing', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let runs = 0;
      const define: Define = (errand) =>
        errand.tool('work', { patience: '1h' }, async (_, task) => {
          runs++;
          await task.step('work', () => new Promise<never>(() => undefined));
          return 'never';
        });
      const first = await bed.server(define);
      void first.client.call('work');
      await soon(() => runs === 1);
      first.store.crash();
      await bed.server(define);
      await delay(50);
      expect(runs).toBe(1);
      expect(await bed.disk.live('anonymous')).toBe(0);
    });

    it('that waits for a slot beyond its patience becomes a task, and runs once', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const runs: string[] = [];
      let free!: () => void;
      // Checking arguments takes a while, before and again in the run.
      const slowly = z.object({ name: z.string().refine(() => delay(15).then(() => true)) });
      const { client } = await bed.server(
        (errand) => {
          errand.tool('hog', { task: 'always' }, async (_, task) => {
            await task.step('hog', () => new Promise<void>((resolve) => (free = resolve)));
            return 'hogged';
          });
          errand.tool('work', { patience: 5, inputSchema: slowly }, async ({ name }, task) => {
            await task.step('work', () => delay(30).then(() => runs.push(name)));
            return name;
          });
        },
        { concurrency: 1 },
      );
      await begin(client, 'hog');
      await soon(() => free !== undefined);
      const waiting = await begin(client, 'work', { name: 'a' });
      expect(runs).toEqual([]);
      free();
      expect(await resultOf(client, waiting)).toBe('a');
      const others = await Promise.all(['b', 'c', 'd', 'e'].map((name) => client.run('work', { name })));
      expect(others.map(textOf)).toEqual(['b', 'c', 'd', 'e']);
      expect(runs.sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
    });

    it('is taken back when its client goes away, but not when it is a task by then (CASES 22)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const seen: string[] = [];
      const { errand, client } = await bed.server((errand) =>
        errand.tool('work', { patience: 500, inputSchema: NAME }, async ({ name }, task) => {
          task.signal.addEventListener('abort', () => seen.push(`${name} aborted`));
          seen.push(`${name} begins`);
          await task.step('work', () => delay(700));
          await task.step('more', () => void seen.push(`${name} goes on`));
          return name;
        }),
      );
      const leaves = leavingClient(errand);
      void leaves.call('work', { name: 'early' });
      await soon(() => seen.includes('early begins'));
      leaves.leave();
      await soon(() => seen.includes('early aborted'));
      const late = leavingClient(errand);
      const answer = late.call('work', { name: 'late' });
      const id = (await answer)!['taskId'] as string;
      late.leave();
      expect(await resultOf(client, id)).toBe('late');
      expect(seen).toEqual(['early begins', 'early aborted', 'late begins', 'late goes on']);
      expect(await bed.disk.live('anonymous')).toBe(0);
    });
  });

  describe('arguments that do not fit', () => {
    it('are told to the model, and nothing is begun', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('greet', { task: 'always', inputSchema: NAME }, ({ name }) => `hello ${name}`),
      );
      expect(await client.call('greet', { name: 5 })).toMatchObject({
        resultType: 'complete',
        isError: true,
        content: [{ text: expect.stringMatching(/^Invalid arguments for tool "greet": name: /) }],
      });
      expect(await bed.disk.live('anonymous')).toBe(0);
    });
  });

  describe('a client that takes no tasks', () => {
    it('waits for the result, however long that takes, and no task is made', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { plain } = await bed.server((errand) =>
        errand.tool('work', { task: 'always', patience: 10 }, async (_, task) => {
          await task.step('slow', () => delay(100));
          await task.sleep(100);
          return 'done';
        }),
      );
      expect(await plain.call('work')).toMatchObject({ resultType: 'complete', content: [{ text: 'done' }] });
      expect(await bed.disk.due(-Infinity, Infinity)).toEqual([]);
    });

    it('is asked by the call itself, round after round, and the work goes on where it was', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let effects = 0;
      const { plain } = await bed.server((errand) =>
        errand.tool('greet', {}, async (_, task) => {
          await task.step('effect', () => void effects++);
          const [a, b] = await Promise.all(
            ['a', 'b'].map((key) => task.elicit(key, { message: `${key}?`, schema: NAME })),
          );
          const c = await task.elicit('c', { message: 'c?', schema: NAME });
          return [a, b, c].map((answer) => answer?.content?.name).join(' ');
        }),
      );
      const first = await plain.call('greet');
      expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { a: {}, b: {} } });
      const again = (more: JsonObject, before: JsonObject) =>
        plain.call('greet', {}, { inputResponses: more, requestState: before['requestState']! });
      const second = await again({ a: named('Ada') }, first);
      expect(Object.keys(second['inputRequests']!)).toEqual(['b']);
      await expect(again({ b: named(5 as never) }, second)).rejects.toMatchObject({ code: -32602 });
      const third = await again({ b: named('Bob') }, second);
      expect(Object.keys(third['inputRequests']!)).toEqual(['c']);
      expect(textOf(await again({ c: named('Cyd') }, third))).toBe('Ada Bob Cyd');
      expect(effects).toBe(1);
    });

    it('may take its time to answer: the work waits, also through a restart', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const define: Define = (errand) =>
        errand.tool('greet', {}, async (_, task) => {
          const { content } = await task.elicit('who', { message: 'Who?', schema: NAME });
          return `hello ${content?.name}`;
        });
      const first = await bed.server(define);
      const { requestState } = await first.plain.call('greet');
      first.store.crash();
      const { plain, errand } = await bed.server(define);
      const eve = testClient(errand, { tasks: false, principal: { kind: 'local' } });
      const answer = { inputResponses: { who: named('Ada') }, requestState: requestState! };
      await expect(eve.call('greet', {}, answer)).rejects.toMatchObject({ code: -32602 });
      expect(textOf(await plain.call('greet', {}, answer))).toBe('hello Ada');
      // Made once more, it finds the same end.
      expect(textOf(await plain.call('greet', {}, answer))).toBe('hello Ada');
    });

    it('that goes away takes its call back, and the server stays', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const seen: string[] = [];
      const { errand, plain } = await bed.server(
        (errand) =>
          errand.tool('work', { inputSchema: NAME }, async ({ name }, task) => {
            seen.push(`${name} begins`);
            task.signal.addEventListener('abort', () => seen.push(`${name} aborted`));
            await task.step('work', () => (name === 'quick' ? undefined : new Promise<never>(() => undefined)));
            await task.step('more', () => void seen.push(`${name} goes on`));
            return name;
          }),
        { concurrency: 1 },
      );
      const leaves = leavingClient(errand, { tasks: false });
      void leaves.call('work', { name: 'running' });
      await soon(() => seen.length === 1);
      void leaves.call('work', { name: 'queued' });
      await delay(20);
      leaves.leave();
      expect(textOf(await plain.call('work', { name: 'quick' }))).toBe('quick');
      expect(seen).toEqual(['running begins', 'running aborted', 'quick begins', 'quick goes on']);
      expect(await bed.disk.live('anonymous')).toBe(0);
    });

    it('is refused where the tool answers with tasks only', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { plain, client } = await bed.server((errand) =>
        errand.tool('work', { withoutTasks: 'refuse' }, () => 'done'),
      );
      await expect(plain.call('work')).rejects.toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
      });
      expect(textOf(await client.call('work'))).toBe('done');
    });

    it('is told when the deadline passes before there is a result', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const aborted: string[] = [];
      const { plain } = await bed.server((errand) =>
        errand.tool('work', { deadline: 50 }, async (_, task) => {
          await task.step('long', ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)));
          aborted.push('never');
          return 'never';
        }),
      );
      await expect(plain.call('work')).rejects.toMatchObject({ code: -31010, message: /^the deadline passed/ });
      await delay(20);
      expect(aborted).toEqual([]);
    });
  });
}
