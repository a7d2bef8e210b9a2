import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { TaskContext } from '../../engine/context.ts';
import type { Errand } from '../../errand.ts';
import { isTerminal, type Task } from '../../task/task.ts';
import { begin, delay, makeBed, parked, resultOf, soon, textOf, type Bed, type Disk } from './bed.suite.ts';

type Work = (task: TaskContext) => Promise<unknown>;

/** A server's tools: `main`, which does `work`, and a few to be its subtasks. */
function tools(work: Work, effects: string[] = []): (errand: Errand) => void {
  return (errand) => {
    errand
      .tool('main', { task: 'always' }, async (_, task) => JSON.stringify((await work(task)) ?? null))
      .tool('say', { inputSchema: z.object({ word: z.string() }) }, async ({ word }, task) => {
        await task.step('say', () => void effects.push(word));
        return word;
      })
      .tool('nap', { inputSchema: z.object({ ms: z.number() }) }, async ({ ms }, task) => {
        await task.sleep(ms);
        effects.push('rested');
        return 'rested';
      })
      .tool('break', {}, (_, task) => {
        effects.push(`broken ${task.id === '' ? '' : 'here'}`);
        throw new Error('broken');
      })
      .tool('ask', {}, async (_, task) => {
        const { content } = await task.elicit('go', { message: 'Go?', schema: z.object({ go: z.boolean() }) });
        return String(content?.go);
      });
  };
}

async function subtasksOf(bed: Bed, id: string): Promise<readonly Task[]> {
  return bed.disk.subtasks(id);
}

/** Tasks that a handler makes (S-1 to S-14). */
export function subtaskSuite(openDisk: () => Disk): void {
  describe('a subtask', () => {
    it('is a task of its own, whose tool result is what awaiting it gives (S-6)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(
        tools(async (task) => (await task.subtask('greet', 'say', { word: 'hello' })).content),
      );
      const id = await begin(client, 'main');
      expect(await resultOf(client, id)).toBe('[{"type":"text","text":"hello"}]');
      const [child] = await subtasksOf(bed, id);
      expect(child).toMatchObject({
        tool: 'say',
        arguments: { word: 'hello' },
        parent: { id, root: id, key: 'greet', path: 'greet' },
        status: 'completed',
      });
      const { deadlineAt, expiresAt, subtasks } = (await bed.disk.read(id))!;
      expect(subtasks).toBe(1);
      expect([child!.deadlineAt <= deadlineAt, child!.expiresAt]).toEqual([true, expiresAt]);
      expect(await client.read(child!.id)).toMatchObject({ status: 'completed' });
    });

    it('runs after others, also after such as are begun later', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const effects: string[] = [];
      const { client } = await bed.server(
        tools(async (task) => {
          const join = task.subtask('join', 'say', { word: 'join' }, { after: ['left', 'right'] });
          task.subtask('left', 'say', { word: 'left' }, { after: 'top' });
          task.subtask('right', 'say', { word: 'right' }, { after: 'top' });
          task.subtask('top', 'say', { word: 'top' });
          return textOf(await join);
        }, effects),
      );
      expect(await resultOf(client, await begin(client, 'main'))).toBe('"join"');
      expect([effects[0], effects.slice(1, 3).sort(), effects[3]]).toEqual(['top', ['left', 'right'], 'join']);
    });

    it.for<[string, Work, RegExp]>([
      ['a key twice', async (task) => [task.subtask('a', 'say'), task.subtask('a', 'say')], /there is a subtask "a"/],
      [
        'an edge that closes a cycle',
        async (task) => [task.subtask('a', 'say', {}, { after: 'b' }), task.subtask('b', 'say', {}, { after: 'a' })],
        /"b" after "a" after "b"/,
      ],
      ['no key', async (task) => task.subtask('', 'say'), /first argument is its key/],
      ['a slash in the key', async (task) => task.subtask('a/b', 'say'), /no "\/"/],
      ['a tool that is not there', async (task) => task.subtask('a', 'nothing'), /there is no tool "nothing"/],
      ['arguments that do not fit', async (task) => task.subtask('a', 'say', { word: 1 }), /do not fit tool "say"/],
      [
        'an edge to a key that is never begun',
        async (task) => void task.subtask('a', 'say', { word: 'x' }, { after: 'b' }),
        /"a" runs after "b", which was never begun/,
      ],
    ])('is refused with %s, and nothing of the task stays alive', async ([, work, why], t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(tools(async (task) => await work(task)));
      const id = await begin(client, 'main');
      expect(await client.until(id, 'completed')).toMatchObject({ result: { isError: true } });
      expect(textOf((await client.read(id))['result'] as never)).toMatch(why);
      await soon(async () => (await subtasksOf(bed, id)).every(isTerminal));
    });

    it('that fails throws where it is awaited, and takes what runs after it along', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const effects: string[] = [];
      const { client } = await bed.server(
        tools(async (task) => {
          const after = task.subtask('after', 'say', { word: 'after' }, { after: 'bad' });
          const bad = task.subtask('bad', 'break');
          const [one, two] = await Promise.allSettled([bad, after]);
          return [one, two].map((end) => end.status === 'rejected' && (end.reason as Error).message);
        }, effects),
      );
      const id = await begin(client, 'main');
      expect(await resultOf(client, id)).toBe(
        '["subtask \\"bad\\" failed: broken","subtask \\"after\\" failed: it was not run, because \\"bad\\" failed"]',
      );
      expect(effects).toEqual(['broken here']);
    });

    it('that fails is the handler’s to deal with where it wants that', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(
        tools(async (task) => {
          const bad = task.subtask('bad', 'break', {}, { onFailure: 'return' });
          const after = await task.subtask('after', 'say', { word: 'after' }, { after: 'bad' });
          return [await bad, textOf(after)];
        }),
      );
      expect(await resultOf(client, await begin(client, 'main'))).toBe(
        '[{"content":[{"type":"text","text":"broken"}],"isError":true},"after"]',
      );
    });

    it('that cannot be made fails as the handler wants it, and can be caught like any promise', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(
        tools(async (task) => {
          const returned = task.subtask('one', 'say', { word: 1 }, { onFailure: 'return' });
          const after = task.subtask('two', 'say', { word: 'two' }, { after: 'one' });
          const caught = await task.subtask('three', 'nothing').catch((error: Error) => error.name);
          return [(await returned).isError, textOf(await after), caught];
        }),
      );
      expect(await resultOf(client, await begin(client, 'main'))).toBe('[true,"two","SubtaskError"]');
    });

    it.for<[string, Work, string]>([
      ['throws', (task) => (task.subtask('slow', 'nap', { ms: 60_000 }), Promise.reject(new Error('no'))), 'no'],
      ['throws at once', (task) => (task.subtask('late', 'late'), Promise.reject(new Error('no'))), 'no'],
      ['returns', (task) => (task.subtask('quick', 'say', { word: 'x' }), Promise.resolve('yes')), '"yes"'],
    ])('leaves no trace but its end where a quick call %s before there is a task', async ([, work, says], t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) => {
        tools(async () => 'unused')(errand);
        errand
          .tool('late', { inputSchema: z.object({}).refine(() => delay(50).then(() => true)) }, () => 'late')
          .tool('auto', {}, async (_, task) => JSON.stringify(await work(task)));
      });
      const answer = await client.call('auto');
      const ended = 'taskId' in answer ? await client.until(answer['taskId'] as string, 'completed') : undefined;
      expect(textOf((ended?.['result'] ?? answer) as object)).toBe(says);
      await soon(async () => (await bed.disk.live('anonymous')) === 0);
    });

    it('is waited for by the task, also where the handler has returned (S-10)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(tools(async (task) => void task.subtask('slow', 'nap', { ms: 300 })));
      const id = await begin(client, 'main');
      await soon(async () => (await subtasksOf(bed, id)).length === 1);
      await delay(50);
      expect((await bed.disk.read(id))!.status).toBe('working');
      await client.until(id, 'completed');
      expect(await subtasksOf(bed, id)).toMatchObject([{ status: 'completed' }]);
    });

    it('is cancelled where the handler does not want to wait for it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(
        tools(async (task) => void task.subtask('slow', 'nap', { ms: 60_000 }, { onParentExit: 'cancel' })),
      );
      const id = await begin(client, 'main');
      await client.until(id, 'completed');
      expect(await subtasksOf(bed, id)).toMatchObject([{ status: 'cancelled' }]);
    });

    it('ends in the same commit as a task that is cancelled, however deep it is (S-11, S-12)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool(
          'deep',
          { task: 'always', inputSchema: z.object({ depth: z.number() }) },
          async ({ depth }, task) => {
            if (depth === 0) await task.sleep('1h');
            else await task.subtask('deeper', 'deep', { depth: depth - 1 });
            return 'done';
          },
        ),
      );
      const id = await begin(client, 'deep', { depth: 3 });
      const leaf = async (at: string, depth: number): Promise<Task | undefined> => {
        const [child] = await subtasksOf(bed, at);
        return child && (depth === 1 ? child : leaf(child.id, depth - 1));
      };
      await soon(async () => (await leaf(id, 3)) !== undefined);
      await client.cancel(id);
      const { status, parent } = (await leaf(id, 3))!;
      expect([status, parent!.path, parent!.root]).toEqual(['cancelled', 'deeper/deeper/deeper', id]);
    });

    it('can be cancelled alone', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(
        tools(async (task) => {
          const slow = task.subtask('slow', 'nap', { ms: 60_000 });
          await task.subtask('quick', 'say', { word: 'x' });
          slow.cancel();
          return slow.then(
            () => 'rested',
            (error: Error) => error.message,
          );
        }),
      );
      expect(await resultOf(client, await begin(client, 'main'))).toBe('"subtask \\"slow\\" failed: it was cancelled"');
    });

    it('wakes a task that was let go of, and every race keeps its winner', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let runs = 0;
      const { client } = await bed.server(
        tools(async (task) => {
          runs++;
          const slow = task.subtask('slow', 'nap', { ms: 2500 }).then(() => 'slow');
          const slower = task.subtask('slower', 'nap', { ms: 2600 }).then(() => 'slower');
          const first = await Promise.race([slow, slower]);
          return [first, await slow, await slower];
        }),
      );
      const id = await begin(client, 'main');
      await parked(bed, id);
      expect(await resultOf(client, id)).toBe('["slow","slow","slower"]');
      expect(runs).toBeGreaterThan(1);
    });

    it('goes on after a crash, is made once, and gives its parent what it would have given', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const effects: string[] = [];
      const work: Work = async (task) => {
        const words = ['a', 'b', 'c'].map((word) => task.subtask(word, 'say', { word }));
        const nap = await task.subtask('nap', 'nap', { ms: 400 }, { after: ['a', 'b', 'c'] });
        return [...(await Promise.all(words)).map((one) => textOf(one as never)), textOf(nap)];
      };
      let server = await bed.server(tools(work, effects));
      const id = await begin(server.client, 'main');
      for (let crash = 0; crash < 6; crash++) {
        await delay(40 * crash);
        server.store.crash();
        server = await bed.server(tools(work, effects));
      }
      expect(await resultOf(server.client, id)).toBe('["a","b","c","rested"]');
      expect((await subtasksOf(bed, id)).map(({ parent }) => parent!.key)).toEqual(['a', 'b', 'c', 'nap']);
    });

    it('holds no slot while it waits, so that one slot is enough for any depth', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(
        (errand) =>
          errand.tool(
            'deep',
            { task: 'always', inputSchema: z.object({ depth: z.number() }) },
            async ({ depth }, task) =>
              depth === 0 ? 'bottom' : textOf((await task.subtask('deeper', 'deep', { depth: depth - 1 })) as never),
          ),
        { concurrency: 1 },
      );
      expect(await resultOf(client, await begin(client, 'deep', { depth: 5 }))).toBe('bottom');
    });
  });
}
