import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { jsonSchema } from '../schema.ts';
import { registered } from './registry.ts';

const handler = (_args: unknown, _task: unknown): string => 'done';
const short = (): string => 'done';

describe('a tool', () => {
  it('has the defaults that its options say', () => {
    expect(registered('t', {}, handler)).toMatchObject({
      task: 'auto',
      hold: { withoutTasks: 'wait', holdMs: 45_000 },
      patienceMs: 800,
      deadlineMs: 86_400_000,
      retentionMs: 86_400_000,
      pollIntervalMs: 1000,
      concurrency: undefined,
      version: '1',
      listed: { name: 't', inputSchema: { type: 'object' } },
    });
  });

  it('is listed with what clients want to know of it, and nothing else', () => {
    const { listed } = registered(
      't',
      {
        title: 'T',
        description: 'does',
        inputSchema: z.object({ n: z.number() }),
        outputSchema: z.object({ m: z.number() }),
        annotations: { readOnlyHint: true },
        task: 'always',
        deadline: '1h',
      },
      handler,
    );
    expect(listed).toMatchObject({
      name: 't',
      title: 'T',
      description: 'does',
      inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      outputSchema: { type: 'object', properties: { m: { type: 'number' } } },
      annotations: { readOnlyHint: true },
    });
    expect(Object.keys(listed).sort()).toEqual([
      'annotations',
      'description',
      'inputSchema',
      'name',
      'outputSchema',
      'title',
    ]);
  });

  it('is replayed where its handler takes the task, or may run twice', () => {
    expect(registered('t', {}, handler).replay).toBe(true);
    expect(registered('t', {}, short).replay).toBe(false);
    expect(registered('t', { annotations: { idempotentHint: true } }, short).replay).toBe(true);
    expect(registered('t', { annotations: { readOnlyHint: true } }, short).replay).toBe(true);
    expect(registered('t', { annotations: { readOnlyHint: false } }, short).replay).toBe(false);
    expect(registered('t', { replay: false }, handler).replay).toBe(false);
    expect(registered('t', { replay: true }, short).replay).toBe(true);
  });

  it('keeps the handlers of its earlier versions', () => {
    const { versions } = registered('t', { version: '3', previous: [{ version: '2', handler: short }] }, handler);
    expect([...versions.keys()]).toEqual(['3', '2']);
    expect(versions.get('2')).toEqual({ handler: short, inputSchema: undefined });
  });

  it.each<[string, Parameters<typeof registered>[1], RegExp]>([
    ['choices', { task: 'sometimes' as 'auto' }, /task is "sometimes"; it must be always, auto, never/],
    ['choices', { withoutTasks: 'drop' as 'wait' }, /withoutTasks is "drop"; it must be wait, handoff, refuse/],
    ['durations', { deadline: 'soon' as '1s' }, /deadline: "soon" is no length of time/],
    ['durations', { holdFor: 'long' as '1s' }, /holdFor: "long" is no length of time/],
    ['contradictions', { withoutTasks: 'handoff', holdFor: '1s' }, /holdFor contradicts withoutTasks: 'handoff'/],
    ['durations', { patience: -1 }, /patience: -1 is no length of time/],
    ['concurrency', { concurrency: 0 }, /concurrency is a whole number of 1 or more/],
    ['concurrency', { concurrency: 1.5 }, /concurrency is a whole number of 1 or more/],
    ['tools without tasks', { task: 'never', prepare: () => null }, /prepare is for tools with tasks/],
    ['tools without tasks', { task: 'never', withoutTasks: 'refuse' }, /contradicts withoutTasks/],
    ['tools without tasks', { task: 'never', holdFor: '1s' }, /task: 'never' contradicts/],
    ['tools without tasks', { task: 'never', concurrency: 1 }, /concurrency limits runs of tasks/],
    ['versions', { previous: [{ version: '1', handler: short }] }, /version "1" is there twice/],
    ['schemas', { inputSchema: z.string() }, /inputSchema: arguments are an object, but this describes "string"/],
    ['schemas', { inputSchema: jsonSchema({ anyOf: [] }) }, /this describes "something else"/],
    ['schemas', { inputSchema: v.object({}) }, /inputSchema: the schema cannot describe itself/],
    [
      'schemas',
      { outputSchema: z.string() },
      /outputSchema: structured content is an object, but this describes "string"/,
    ],
    ['retry', { retry: 3 as never }, /retry is 3; it says how, for instance { attempts: 3/],
    ['onEnd', { onEnd: 'mail' as never }, /onEnd is "mail"; it is a function/],
    ['prepare', { prepare: {} as never }, /prepare is an object; it is a function/],
    ['an option that nobody knows', { retries: 3 } as never, /option "retries" is unknown; there are title,/],
    ['no options', 'fast' as never, /the options are "fast"; they must be an object/],
    ['schemas', { outputSchema: z.object({ d: z.date() }) }, /outputSchema: Date cannot be represented/],
  ])('is refused when it is registered, by its name, where its options make no sense: %s', (_, options, message) => {
    expect(() => registered('my-tool', options, handler)).toThrow(TypeError);
    expect(() => registered('my-tool', options, handler)).toThrow(message);
    expect(() => registered('my-tool', options, handler)).toThrow(/^tool "my-tool": /);
  });

  it('has a name that every client can write', () => {
    for (const name of ['', 'a b', 'a/b', 'ä', 'x'.repeat(129)]) {
      expect(() => registered(name, {}, handler)).toThrow(/a name has 1 to 128/);
    }
    for (const name of ['a', 'A-b_c.9', 'x'.repeat(128)]) expect(registered(name, {}, handler).name).toBe(name);
  });

  it('has a handler', () => {
    expect(() => registered('t', {}, undefined as never)).toThrow('the third argument is its handler');
  });
});
