import { describe, expect, it } from 'vitest';
import type { StepContext } from '../../engine/context.ts';
import { StepError, StepUnknown } from '../../engine/failures.ts';
import { RpcError } from '../../errors.ts';
import { begin, delay, makeBed, resultOf, soon, textOf, type Define, type Disk } from './bed.suite.ts';

/** What steps promise, on any executor. */
export function stepSuite(openDisk: () => Disk): void {
  describe('a step', () => {
    it('gives the JSON copy of its value, in the first run and in every later one', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const seen: unknown[] = [];
      let dying = true;
      const define: Define = (errand) =>
        errand.tool('copy', { task: 'always' }, async (_, task) => {
          const date = await task.step('date', () => new Date(0) as unknown);
          const nothing = await task.step('nothing', () => undefined);
          const object = await task.step('object', () => ({ a: undefined, b: [undefined] }));
          seen.push([date, nothing, object]);
          if (dying) await new Promise(() => undefined);
          return 'done';
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'copy');
      await soon(() => seen.length === 1);
      first.store.crash();
      dying = false;
      const second = await bed.server(define);
      expect(await resultOf(second.client, id)).toBe('done');
      expect(seen).toStrictEqual([
        ['1970-01-01T00:00:00.000Z', null, { b: [null] }],
        ['1970-01-01T00:00:00.000Z', null, { b: [null] }],
      ]);
    });

    it('that completed does not run again when the server dies later', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const effects: string[] = [];
      let dying = true;
      const define: Define = (errand) =>
        errand.tool('build', { task: 'always' }, async (_, task) => {
          const parts = [];
          for (const name of ['a', 'b', 'c']) {
            parts.push(
              await task.step(name, async () => {
                effects.push(name);
                if (name === 'c' && dying) await new Promise(() => undefined); // killed in mid-step
                return name.toUpperCase();
              }),
            );
          }
          return parts.join('');
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'build');
      await soon(() => effects.length === 3);
      first.store.crash();
      dying = false;
      const second = await bed.server(define);
      expect(await resultOf(second.client, id)).toBe('ABC');
      expect(effects).toEqual(['a', 'b', 'c', 'c']);
    });

    it('has one key over all attempts and runs, and no other step has it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const keys: string[][] = [];
      let dying = true;
      const define: Define = (errand) =>
        errand.tool('pay', { task: 'always' }, async (_, task) => {
          const own: string[] = [];
          keys.push(own);
          await task.step(
            'a',
            ({ key, attempt }) => own.push(key) && attempt === 1 && Promise.reject(new Error('again')),
            {
              retry: { attempts: 2, backoff: 1 },
            },
          );
          const note = ({ key }: StepContext): void => void own.push(key);
          await Promise.all([task.step('a', note), task.step('b', note)]);
          if (dying) await task.step('dies here', () => new Promise<never>(() => undefined));
          return 'paid';
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'pay');
      await soon(() => keys[0]?.length === 4);
      // Nothing of it reaches the disk but the task itself: all runs again.
      const [a, again, a2, b] = keys[0]!;
      first.store.crash();
      dying = false;
      const second = await bed.server(define);
      await resultOf(second.client, id);
      await resultOf(second.client, await begin(second.client, 'pay'));
      expect(again).toBe(a);
      for (const key of keys[1]!) expect(keys[0]).toContain(key);
      expect(new Set([a, a2, b, ...keys[2]!]).size).toBe(6);
      for (const key of keys.flat()) expect(key).toMatch(/^[\w-]{32}$/);
    });

    it('is tried as often as its policy says, after longer and longer waits', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const attempts: number[] = [];
      const times: number[] = [];
      const { client } = await bed.server((errand) =>
        errand.tool('flaky', {}, async (_, task) =>
          task.step(
            'call',
            ({ attempt }) => {
              attempts.push(attempt);
              times.push(performance.now());
              // Errors that programming mistakes make are tried again like any other.
              if (attempt < 4) throw new TypeError(`attempt ${attempt}`);
              return `ok at ${attempt}`;
            },
            { retry: { attempts: 5, backoff: 20 } },
          ),
        ),
      );
      expect(textOf(await client.run('flaky'))).toBe('ok at 4');
      expect(attempts).toEqual([1, 2, 3, 4]);
      const waits = times.slice(1).map((time, index) => time - times[index]!);
      waits.forEach((wait, index) => expect(wait).toBeGreaterThan(20 * 2 ** index - 2));
    });

    it('is not tried again where the error is not worth it, and fails with the last error', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let tries = 0;
      const { client } = await bed.server((errand) => {
        errand.tool('hopeless', {}, async (_, task) =>
          task.step(
            'call',
            () => {
              throw new Error(++tries === 1 ? 'busy' : 'gone');
            },
            { retry: { attempts: 9, backoff: 1, when: (error) => error.message === 'busy' } },
          ),
        );
        errand.tool('exhausted', {}, async (_, task) =>
          task.step(
            'call',
            ({ attempt }) => {
              throw new Error(`failed ${attempt}`);
            },
            { retry: { attempts: 3, backoff: 1 } },
          ),
        );
      });
      expect(await client.run('hopeless')).toMatchObject({ isError: true, content: [{ text: 'gone' }] });
      expect(tries).toBe(2);
      expect(await client.run('exhausted')).toMatchObject({ isError: true, content: [{ text: 'failed 3' }] });
    });

    it('fails with the same error in every run: name, message, code and data', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const caught: unknown[] = [];
      let dying = true;
      class BankError extends Error {
        override readonly name = 'BankError';
        readonly code = 'E_FUNDS';
        readonly data = { missing: 5, at: new Date(0) };
      }
      const throws: Record<string, unknown> = {
        bank: new BankError('no funds'),
        rpc: new RpcError(-32050, 'mine', { a: 1 }),
        text: 'just a text',
        constructor: Object.assign(new Error('odd name'), { name: 'constructor' }),
        map: Object.assign(new Error('odd data'), { data: new Map() }),
      };
      const define: Define = (errand) =>
        errand.tool('fail', { task: 'always' }, async (_, task) => {
          const round: unknown[] = [];
          for (const [name, thrown] of Object.entries(throws)) {
            const error = await task
              .step(name, () => {
                throw thrown;
              })
              .then(String, (error: unknown) => error as StepError);
            if (!(error instanceof StepError)) throw new Error(`${name} is ${String(error)}`);
            round.push([error.name, error.message, error.code, error.data]);
          }
          caught.push(round);
          if (dying) await new Promise(() => undefined);
          return 'survived';
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'fail');
      await soon(() => caught.length === 1);
      first.store.crash();
      dying = false;
      const second = await bed.server(define);
      expect(await resultOf(second.client, id)).toBe('survived');
      expect(caught[0]).toEqual([
        ['BankError', 'no funds', 'E_FUNDS', { missing: 5, at: '1970-01-01T00:00:00.000Z' }],
        ['RpcError', 'mine', -32050, { a: 1 }],
        ['Error', 'just a text', undefined, undefined],
        ['constructor', 'odd name', undefined, undefined],
        [
          'Error',
          'odd data',
          undefined,
          'the data of the error that step "map" threw: the value is a Map, which is no JSON',
        ],
      ]);
      expect(caught[1]).toEqual(caught[0]);
    });

    it('that takes too long fails, its signal aborts, and what it comes to later counts for nothing', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const reasons: unknown[] = [];
      let late = false;
      const { client } = await bed.server((errand) => {
        errand.tool('slow', {}, async (_, task) => {
          const first = await task
            .step(
              'call',
              async ({ signal }) => {
                signal.addEventListener('abort', () => reasons.push((signal.reason as Error).name));
                await delay(60);
                late = true;
                return 'late';
              },
              { timeout: 20 },
            )
            .catch((error: Error) => `${error.name}: ${error.message}`);
          await task.step('later', () => delay(80));
          return first;
        });
        errand.tool('retried', {}, async (_, task) =>
          task.step('call', ({ attempt }) => (attempt === 1 ? delay(500).then(() => 'late') : `attempt ${attempt}`), {
            timeout: '40ms',
            retry: { attempts: 2, backoff: 1 },
          }),
        );
        errand.tool('patient', {}, async (_, task) =>
          task.step('call', () => delay(30).then(() => 'ok'), { timeout: '60d' }),
        );
      });
      expect(textOf(await client.run('slow'))).toBe('TimeoutError: step "call" took longer than 20 ms');
      expect(late).toBe(true);
      expect(reasons).toEqual(['TimeoutError']);
      expect(textOf(await client.run('retried'))).toBe('attempt 2');
      expect(textOf(await client.run('patient'))).toBe('ok');
    });

    it('whose value is no JSON fails, and the error names it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('map', {}, async (_, task) => {
          await task.step('index', () => ({ by: { name: new Map() } }));
          return 'never';
        }),
      );
      expect(await client.run('map')).toMatchObject({
        isError: true,
        content: [{ text: 'step "index": by.name is a Map, which is no JSON' }],
      });
    });

    it('with options that make no sense is refused before anything is recorded', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const messages: string[] = [];
      const { client } = await bed.server((errand) =>
        errand.tool('odd', { task: 'always' }, async (_, task) => {
          const wrong: Parameters<typeof task.step>[] = [
            ['', () => 1],
            ['a', 'no function' as never],
            ['b', () => 1, { retry: { attempts: 0 } }],
            ['c', () => 1, { retry: { attempts: 2 }, atMostOnce: true }],
            ['d', () => 1, { timeout: 'soon' as '1s' }],
            ['e', () => 1, { retry: { attempts: 2, backoff: -1 } }],
          ];
          for (const args of wrong) {
            messages.push(await task.step(...args).then(String, (error: Error) => `${error.name}: ${error.message}`));
          }
          return 'done';
        }),
      );
      const id = await begin(client, 'odd');
      await resultOf(client, id);
      expect(messages).toEqual([
        'TypeError: step: the first argument is its name',
        'TypeError: step "a": the second argument is the function to run',
        'TypeError: step "b": retry.attempts is 0; it counts all attempts, so 1 or more',
        'TypeError: step "c": atMostOnce cannot be combined with retries',
        expect.stringMatching(/^TypeError: step "d": timeout: "soon" is no length of time/),
        expect.stringMatching(/^TypeError: step "e": retry.backoff: -1 is no length of time/),
      ]);
      expect(await bed.disk.journal(id)).toEqual([]);
    });
  });

  describe('an atMostOnce step', () => {
    it('is on disk before its effect', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('send', { task: 'always' }, async (_, task) =>
          task.step(
            'mail',
            async () => {
              const [entry] = await bed.disk.journal(task.id);
              return `${entry?.type} ${entry?.type === 'begin' && entry.name}`;
            },
            { atMostOnce: true },
          ),
        ),
      );
      expect(await resultOf(client, await begin(client, 'send'))).toBe('begin mail');
    });

    it('that was interrupted never runs again, and the handler can ask what to do', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let sent = 0;
      const define: Define = (errand) =>
        errand.tool('send', { task: 'always' }, async (_, task) => {
          try {
            await task.step('mail', () => (++sent === 1 ? new Promise<never>(() => undefined) : 'sent'), {
              atMostOnce: true,
            });
            return 'sent';
          } catch (error) {
            if (!(error instanceof StepUnknown)) throw error;
            await task.step('check', () => 'checked');
            return `${error.name}: ${error.message}`;
          }
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'send');
      await soon(() => sent === 1);
      first.store.crash();
      const second = await bed.server(define);
      expect(await resultOf(second.client, id)).toBe(
        'StepUnknown: step "mail" was interrupted; whether its effect took place is unknown',
      );
      expect(sent).toBe(1);
    });

    it('that was never begun runs after a crash, and one that ended gives its value', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let sent = 0;
      let dying = true;
      const define: Define = (errand) =>
        errand.tool('send', { task: 'always' }, async (_, task) => {
          const first = await task.step('first', () => `mail ${++sent}`, { atMostOnce: true });
          if (dying) await new Promise(() => undefined);
          const second = await task.step('second', () => `mail ${++sent}`, { atMostOnce: true });
          return `${first}, ${second}`;
        });
      const server = await bed.server(define);
      const id = await begin(server.client, 'send');
      await soon(async () => (await bed.disk.journal(id)).length === 2);
      server.store.crash();
      dying = false;
      const { client } = await bed.server(define);
      expect(await resultOf(client, id)).toBe('mail 1, mail 2');
    });
  });

  describe('now and uuid', () => {
    it('are what they were in the first run, once a step may have used them', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const seen: unknown[][] = [];
      let dying = true;
      const define: Define = (errand) =>
        errand.tool('stamp', { task: 'always' }, async (_, task) => {
          const stamp = [task.now(), task.uuid(), task.uuid()];
          await task.step('use', async () => {
            seen.push(stamp);
            if (dying) await new Promise(() => undefined);
          });
          return JSON.stringify(stamp);
        });
      const first = await bed.server(define);
      const id = await begin(first.client, 'stamp');
      await soon(() => seen.length === 1);
      first.store.crash();
      dying = false;
      bed.advance(60_000);
      const { client } = await bed.server(define);
      expect(await resultOf(client, id)).toBe(JSON.stringify(seen[0]));
      expect(seen[1]).toEqual(seen[0]);
      expect(seen[0]![1]).not.toBe(seen[0]![2]);
    });
  });
}
