import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  jsonSchema,
  StepUnknown,
  type Duration,
  type InputOptions,
  type RetryPolicy,
  type SubtaskOptions,
  type TaskContext,
} from '../../src/index.ts';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import type { CallKind } from '../../src/task/journal.ts';
import type { Ledger, Seen } from './ledger.ts';

const WORD = jsonSchema({ type: 'object', properties: { word: { type: 'string' } }, required: ['word'] });

export interface EffectOptions {
  /** How long it takes, in ms. */
  readonly lasts?: number;
  /** How many attempts of each run fail. */
  readonly fails?: number;
  /** Fails until it has taken place so often, in whatever run. */
  readonly until?: number;
  readonly retry?: RetryPolicy;
}

/** What the handlers of the load use: each call on the task, with a note of all that they are given. */
export interface Diary {
  readonly task: TaskContext;
  /** In the order in which the handler was given it. */
  readonly seen: readonly Seen[];
  /** A step whose effect is a line of the ledger; gives a text that is new each time the effect takes place. */
  step(name: string, options?: EffectOptions): Promise<string>;
  /** An effect that must not take place twice. Gives `undefined` where nobody knows whether it did. */
  once(name: string, lasts: number): Promise<string | undefined>;
  /** An effect outside of any step. Must not take place twice either. */
  mark(name: string): void;
  /** Whether an effect took place, as the world outside would say; recorded. */
  lookUp(name: string): Promise<boolean>;
  /** A question, answered with some word. Throws what `elicit` throws. */
  ask(key: string, options?: InputOptions): Promise<string>;
  sleep(duration: Duration): Promise<void>;
  /** A subtask, whose argument is its key; gives the text of its result. */
  subtask(key: string, tool: string, options?: SubtaskOptions): Promise<string>;
  /** Waits until the task is told something that begins with a word, and gives the word. */
  hear(word: string): Promise<string>;
  now(): void;
  uuid(): void;
}

/** `timesOf` says how often the effect of a step took place. */
export function openDiary(task: TaskContext, ledger: Ledger, timesOf: (step: string) => number): Diary {
  const seen: Seen[] = [];
  let told: AsyncIterator<JsonValue> | undefined;

  /** Notes what came, also a failure, in the order in which it came. */
  async function noting<T>(kind: CallKind, name: string, call: Promise<T>): Promise<T> {
    try {
      const value = await call;
      seen.push([kind, name, value ?? null]);
      return value;
    } catch (error) {
      seen.push([kind, name, { failure: (error as Error).message }]);
      throw error;
    }
  }

  function effect(step: string, attempt: number, key: string, given: readonly Seen[], once: boolean): string {
    const gave = `${step} ${randomUUID().slice(0, 8)}`;
    ledger.note({ type: 'effect', task: task.id, step, at: Date.now(), attempt, key, once, given, gave });
    return gave;
  }

  return {
    task,
    seen,
    step(name, { lasts = 10, fails = 0, until = 0, retry } = {}) {
      const given = [...seen];
      const call = task.step(
        name,
        async ({ attempt, key }) => {
          // At once: whatever the handler was given too early shows here first.
          const gave = effect(name, attempt, key, given, false);
          await pause(lasts);
          if (attempt <= fails || timesOf(name) < until) throw new Error('not yet');
          return gave;
        },
        retry === undefined ? {} : { retry },
      );
      return noting('step', name, call);
    },
    async once(name, lasts) {
      const given = [...seen];
      const call = task.step(
        name,
        async ({ attempt, key }) => {
          await pause(lasts / 2);
          const gave = effect(name, attempt, key, given, true);
          await pause(lasts / 2);
          return gave;
        },
        { atMostOnce: true },
      );
      return noting('step', name, call).catch((error: unknown) => {
        if (error instanceof StepUnknown) return undefined;
        throw error;
      });
    },
    mark: (name) => void effect(name, 1, name, [], true),
    lookUp: (name) =>
      noting(
        'step',
        `look up ${name}`,
        task.step(`look up ${name}`, () => timesOf(name) > 0),
      ),
    async ask(key, options = {}) {
      const form = { message: `What is ${key}?`, schema: WORD };
      const answer = await noting('input', key, task.elicit(key, { ...form, ...options }));
      return (answer.content as { word: string }).word;
    },
    async subtask(key, tool, options = {}) {
      const { content } = await noting('subtask', key, toJson(task.subtask(key, tool, { name: key }, options)));
      return (content as { text: string }[])[0]!.text;
    },
    async hear(word) {
      told ??= task.steering()[Symbol.asyncIterator]();
      for (;;) {
        const message = await noting('steering', 'steering', nextOf(told));
        if (typeof message === 'string' && message.startsWith(word)) return word;
      }
    },
    sleep: (duration) => noting('sleep', 'sleep', task.sleep(duration)),
    now: () => void seen.push(['now', 'now', task.now()]),
    uuid: () => void seen.push(['uuid', 'uuid', task.uuid()]),
  };
}

async function toJson(result: PromiseLike<object>): Promise<JsonObject> {
  return (await result) as JsonObject;
}

async function nextOf(messages: AsyncIterator<JsonValue>): Promise<JsonValue> {
  return (await messages.next()).value as JsonValue;
}
