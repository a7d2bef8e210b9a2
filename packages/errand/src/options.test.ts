import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import type { TaskContext } from './engine/context.ts';
import { createErrand, type ErrandOptions } from './index.ts';
import { testClient } from './testing.ts';

const SILENT = pino({ level: 'silent' });

/** A value where the types do not let it: JavaScript does. */
const wrong = (value: unknown): never => value as never;

/** What a handler hears of a call that makes no sense. */
async function refusal(call: (task: TaskContext) => unknown): Promise<string> {
  const errand = createErrand({ name: 'test', version: '1', log: SILENT });
  onTestFinished(() => errand.close());
  errand.tool('part', {}, () => 'done');
  errand.tool('try', { task: 'always' }, async (_, task) => {
    try {
      await call(task);
      return 'taken';
    } catch (error) {
      return `${(error as Error).name}: ${(error as Error).message}`;
    }
  });
  const { content } = await testClient(errand).run('try');
  return (content as { text: string }[])[0]!.text;
}

describe('a call of a task says what is wrong with its options', () => {
  it.each<[string, (task: TaskContext) => unknown, string]>([
    ['a step', (task) => task.step('s', () => 1, wrong({ retries: 3 })), 'step "s": option "retries" is unknown'],
    ['a step', (task) => task.step('s', () => 1, wrong({ retry: 3 })), 'step "s": retry is 3; it says how'],
    [
      'a step',
      (task) => task.step('s', () => 1, wrong({ retry: { when: 'always' } })),
      'step "s": retry.when is "always"; it is a function',
    ],
    [
      'a subtask',
      (task) => task.subtask('p', 'part', {}, wrong({ onFailure: 'ignore' })),
      'subtask "p": onFailure is "ignore"; it must be fail, return',
    ],
    [
      'a subtask',
      (task) => task.subtask('p', 'part', {}, wrong({ onParentExit: 'abandon' })),
      'subtask "p": onParentExit is "abandon"; it must be wait, cancel',
    ],
    [
      'a subtask',
      (task) => task.subtask('p', 'part', {}, wrong({ dependsOn: 'a' })),
      'subtask "p": option "dependsOn" is unknown; there are after, onFailure',
    ],
    ['track', (task) => task.track(wrong(null)), 'track: the first argument is null; it must be a list'],
    ['track', (task) => task.track(wrong({})), 'track: the first argument is an object; it must be a list'],
    ['elicit', (task) => task.elicit('q', wrong({ message: 'm' })), 'question "q": elicit needs a schema'],
    ['elicit', (task) => task.elicit('q', wrong('Name?')), 'question "q": elicit takes { message, schema }'],
  ])('%s', async (_, call, message) => {
    expect(await refusal(call)).toContain(`TypeError: ${message}`);
  });

  it('and takes what makes sense', async () => {
    expect(
      await refusal(async (task) => {
        await task.step('s', () => 1, { timeout: '1s', retry: { attempts: 2 } });
        for await (const _ of task.track(new Set([1, 2]))) continue;
        await task.subtask('p', 'part', {}, { onFailure: 'return', onParentExit: 'cancel', weight: 2 });
      }),
    ).toBe('taken');
  });
});

describe('a server says what is wrong with its options', () => {
  const made = (options: Partial<ErrandOptions>) => () => createErrand({ name: 'test', version: '1', ...options });

  it.each<[string, unknown, string]>([
    ['a text', 'x.db', "import { sqlite } from 'errand/sqlite', and store: sqlite('x.db')"],
    ['nothing', null, 'store must be one of memory() or of sqlite'],
  ])('where the store is %s', (_, store, message) => {
    expect(made({ store: wrong(store) })).toThrow(message);
  });

  it('where the log has not the methods that it calls', () => {
    expect(made({ log: wrong(console) })).toThrow('createErrand: log has no child(); it must be a pino logger');
    expect(made({ log: SILENT })).not.toThrow();
  });

  it.each([['x'], ['8080'], [-1], [70_000], [1.5]])('where the port is %s', async (port) => {
    const errand = made({ log: SILENT })();
    onTestFinished(() => errand.close());
    await expect(errand.serve({ port: wrong(port) })).rejects.toThrow(/^serve: port is .*; it must be a whole number/);
  });

  it('also in the options of a tool', () => {
    const errand = made({ log: SILENT })();
    expect(() => errand.tool('t', wrong({ inputschema: z.object({}) }), () => 'done')).toThrow(
      'tool "t": option "inputschema" is unknown',
    );
  });
});
