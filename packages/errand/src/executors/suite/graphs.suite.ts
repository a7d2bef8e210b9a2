import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { TaskContext } from '../../engine/context.ts';
import type { Errand } from '../../errand.ts';
import { isTerminal, type Task } from '../../task/task.ts';
import { begin, delay, makeBed, parked, PATIENCE, resultOf, soon, textOf, type Bed, type Disk } from './bed.suite.ts';

const GO = z.object({ go: z.boolean() });
const YES = { action: 'accept', content: { go: true } };

type Work = (task: TaskContext) => Promise<unknown>;

/** A server whose tool `main` does some work, and whose other tools are its subtasks. */
function tools(work: Work): (errand: Errand) => void {
  return (errand) => {
    errand
      .tool('main', { task: 'always' }, async (_, task) => JSON.stringify((await work(task)) ?? null))
      .tool('say', { inputSchema: z.object({ word: z.string() }) }, ({ word }, task) => task.step('say', () => word))
      .tool('nap', { inputSchema: z.object({ ms: z.number() }) }, async ({ ms }, task) => {
        await task.sleep(ms);
        return 'rested';
      })
      .tool('ask', {}, async (_, task) => {
        const { content } = await task.elicit('go', { message: 'Go?', schema: GO });
        return `went: ${content?.go}`;
      })
      .tool('scopes', { inputSchema: z.object({ below: z.array(z.string()) }) }, async ({ below }, task) => {
        const [scope] = below;
        if (scope === undefined) return JSON.stringify(task.scopes);
        const options = scope === 'as above' ? {} : { scope: scope === '' ? [] : scope.split(' ') };
        return textOf(await task.subtask('below', 'scopes', { below: below.slice(1) }, options));
      });
  };
}

const keysOf = (tasks: readonly Task[]) => tasks.map(({ parent }) => parent!.key);

/** What graphs of subtasks come to when servers die, and what is seen of them. */
export function graphSuite(openDisk: () => Disk): void {
  describe('a graph', () => {
    it('is waited for also where the handler returns within a replay (S-10)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const define = tools(async (task) => {
        task.subtask('slow', 'ask');
        await task.step('last', () => 'done');
      });
      const first = await bed.server(define);
      const id = await begin(first.client, 'main');
      await soon(async () => (await bed.disk.journal(id)).some(({ type }) => type === 'end'));
      await soon(async () => (await bed.disk.subtasks(id)).length === 1);
      first.store.crash();
      const { client } = await bed.server(define);
      const [child] = await bed.disk.subtasks(id);
      await soon(async () => (await bed.disk.read(child!.id))!.status === 'input_required');
      await delay(50);
      expect((await bed.disk.read(id))!.status).toBe('working');
      await client.answer(child!.id, { go: YES });
      await client.until(id, 'completed', PATIENCE);
      expect((await bed.disk.read(child!.id))!.status).toBe('completed');
    });

    it('is cancelled in the commit that ends its task, also where the handler throws within a replay', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const torn: string[] = [];
      bed.disk.subscribe((task) => {
        if (task.parent === undefined || isTerminal(task)) return;
        void bed.disk.read(task.parent.id).then((parent) => void (isTerminal(parent!) && torn.push(task.parent!.key)));
      });
      let breaks = false;
      const define = tools(async (task) => {
        task.subtask('asks', 'ask');
        await task.step('first', () => 'done');
        const nap = task.sleep('1h');
        if (breaks) throw new Error('broken');
        await nap;
      });
      const first = await bed.server(define);
      const id = await begin(first.client, 'main');
      await soon(async () => (await bed.disk.subtasks(id)).length === 1);
      await soon(async () => (await bed.disk.journal(id)).some(({ type }) => type === 'end'));
      first.store.crash();
      breaks = true;
      const { client } = await bed.server(define);
      expect(await client.until(id, 'completed', PATIENCE)).toMatchObject({ result: { isError: true } });
      expect((await bed.disk.subtasks(id)).map(({ status }) => status)).toEqual(['cancelled']);
      expect(torn).toEqual([]);
    });

    it('leaves nothing behind where the handler throws right after it has begun it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(
        tools(async (task) => {
          await task.step('first', () => 'done');
          task.subtask('early', 'nap', { ms: 3_600_000 });
          throw new Error('broken');
        }),
      );
      const id = await begin(client, 'main');
      await client.until(id, 'completed', PATIENCE);
      await delay(50);
      expect((await bed.disk.subtasks(id)).filter((task) => !isTerminal(task))).toEqual([]);
    });

    it('keeps what its handler cancelled, also where the server dies over it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const define = tools(async (task) => {
        const slow = task.subtask('slow', 'nap', { ms: 3_600_000 });
        await task.step('decide', () => 'enough');
        slow.cancel();
        return slow.then(
          () => 'rested',
          (error: Error) => error.message,
        );
      });
      let server = await bed.server(define);
      const id = await begin(server.client, 'main');
      // Somewhere among these writes is the cancel.
      for (let write = 1; write <= 4; write++) {
        server.store.crashAt(write, 'before');
        await soon(async () => server.store.dead || isTerminal((await bed.disk.read(id))!));
        server.store.crash();
        server = await bed.server(define);
      }
      expect(await resultOf(server.client, id)).toBe('"subtask \\"slow\\" failed: it was cancelled"');
    });

    it('is looked after by one run at a time: one that was let go of does nothing more', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(
        tools(async (task) => {
          // Begun in an order in which a run that hears of the end of `bad` too early cancels `after` before it.
          const after = task.subtask('after', 'say', { word: 'x' }, { after: 'bad' });
          const bad = task.subtask('bad', 'ask');
          return Promise.all([after, bad]).catch((error: Error) => error.message);
        }),
      );
      const id = await begin(client, 'main');
      await soon(async () => (await bed.disk.subtasks(id)).length === 2);
      await parked(bed, id);
      const bad = (await bed.disk.subtasks(id)).find(({ parent }) => parent!.key === 'bad')!;
      await parked(bed, bad.id);
      await client.cancel(bad.id);
      expect(await resultOf(client, id)).toBe('"subtask \\"bad\\" failed: it was cancelled"');
    });

    it('runs as many at once as the tool allows, and as the server does', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const busy = { few: 0, many: 0 };
      const most = { few: 0, many: 0 };
      const { client } = await bed.server(
        (errand) => {
          for (const name of ['few', 'many'] as const) {
            errand.tool(name, name === 'few' ? { concurrency: 3 } : {}, async (_, task) => {
              await task.step('work', async () => {
                most[name] = Math.max(most[name], ++busy[name]);
                await delay(5);
                busy[name]--;
              });
              return name;
            });
          }
          errand.tool('main', { task: 'always' }, async (_, task) => {
            const all = Array.from({ length: 60 }, (_, n) => task.subtask(`n${n}`, n % 2 === 0 ? 'few' : 'many'));
            return String((await Promise.all(all)).length);
          });
        },
        { concurrency: 8 },
      );
      expect(await resultOf(client, await begin(client, 'main'))).toBe('60');
      expect(most.few).toBe(3);
      expect(most.many).toBeGreaterThan(3);
      expect(most.many).toBeLessThanOrEqual(8);
    });

    it('shows what is asked within it at its root, which goes on meanwhile, and takes the answers there (S-13)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const define = (errand: Errand): void => {
        tools(async (task) => {
          const branches = ['left', 'right'].map((key) => task.subtask(key, 'deeper'));
          await task.step('meanwhile', () => 'done');
          return (await Promise.all(branches)).map((result) => textOf(result));
        })(errand);
        errand.tool('deeper', {}, async (_, task) => textOf(await task.subtask('leaf', 'ask')));
      };
      let server = await bed.server(define);
      const id = await begin(server.client, 'main');
      const asked = async (): Promise<string[]> =>
        Object.keys((await server.client.read(id))['inputRequests'] ?? {}).sort();
      await soon(async () => (await asked()).length === 2);
      expect(await asked()).toEqual(['left/leaf/go', 'right/leaf/go']);
      expect(await server.client.read(id)).toMatchObject({ status: 'input_required' });
      expect((await bed.disk.read(id))!.status).toBe('working');
      await parked(bed, id);
      await server.client.answer(id, { 'left/leaf/go': YES });
      await soon(async () => (await asked()).length === 1);
      server.store.crash();
      server = await bed.server(define);
      expect(await asked()).toEqual(['right/leaf/go']);
      // All or nothing, as for questions of its own.
      await expect(server.client.answer(id, { 'right/leaf/go': { action: 'accept', content: {} } })).rejects.toThrow();
      await server.client.answer(id, { 'right/leaf/go': YES, 'left/leaf/go': { action: 'decline' } });
      expect(await resultOf(server.client, id)).toBe('["went: true","went: true"]');
    });

    it.for<[string[], string]>([
      [['read write', 'read'], '["read"]'],
      [['read write', 'as above'], '["read","write"]'],
      [['read', ''], '[]'],
      [['read', 'read write'], 'subtask "below": scope "write" is not among the scopes of the task'],
      [['', 'read'], 'subtask "below": scope "read" is not among the scopes of the task'],
    ])('hands on scopes that were narrowed to %s, and never more', async ([below, expected], t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(tools(async (task) => textOf(await task.subtask('a', 'scopes', { below }))));
      const text = await resultOf(client, await begin(client, 'main'));
      expect(text.replaceAll('\\"', '"')).toContain(expected);
    });

    it('names its tasks once each, however often the server dies while it is made', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const keys = Array.from({ length: 30 }, (_, n) => `n${n}`);
      const define = tools(async (task) => {
        const waves = [keys.slice(0, 10), keys.slice(10, 20), keys.slice(20)];
        for (const wave of waves) await Promise.all(wave.map((key) => task.subtask(key, 'say', { word: key })));
      });
      let server = await bed.server(define);
      const id = await begin(server.client, 'main');
      for (let crash = 1; crash <= 10; crash++) {
        server.store.crashAt(crash, crash % 2 === 0 ? 'before' : 'after');
        await soon(async () => server.store.dead || isTerminal((await bed.disk.read(id))!));
        server.store.crash();
        server = await bed.server(define);
      }
      await server.client.until(id, 'completed', PATIENCE);
      const made = await bed.disk.subtasks(id);
      expect(keysOf(made).sort()).toEqual([...keys].sort());
      expect(made.every(({ status }) => status === 'completed')).toBe(true);
      await allEnd(bed, id);
    });
  });
}

async function allEnd(bed: Bed, id: string): Promise<void> {
  const begins = (await bed.disk.journal(id)).filter(({ type }) => type === 'begin').length;
  const ends = (await bed.disk.journal(id)).filter(({ type }) => type === 'end').length;
  expect(ends).toBe(begins);
}
