import fc from 'fast-check';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Change, Store } from '../store.ts';
import type { LoggedEvent } from '../task/event.ts';
import type { JournalEntry } from '../task/journal.ts';
import type { Task } from '../task/task.ts';
import { answer, ask, cancel, describe, finish, hold, park, release } from '../task/transitions.ts';
import { memory } from './memory.ts';
import { sqlite } from './sqlite.ts';
import { begin, create, newTask } from './suite/subject.suite.ts';

/** Tasks have other ids in each store; here they go by the number of their creation. */
type Step =
  | {
      readonly kind: 'create';
      readonly deadlineMs: number;
      readonly principal: string;
      readonly seq: number;
      readonly key: string | undefined;
    }
  | { readonly kind: 'createAgain' | 'noChange' | 'throw' | 'moveDeadline'; readonly task: number }
  | {
      readonly kind: 'change';
      readonly task: number;
      readonly transition: keyof typeof TRANSITIONS;
      readonly at: number;
    }
  | { readonly kind: 'append'; readonly task: number; readonly seq: number; readonly count: number }
  | { readonly kind: 'log'; readonly task: number; readonly event: LoggedEvent; readonly count: number }
  | { readonly kind: 'subtasks'; readonly task: number; readonly count: number; readonly again: boolean }
  | { readonly kind: 'wake'; readonly task: number; readonly other: number }
  | { readonly kind: 'tree'; readonly task: number; readonly transition: 'ask' | 'cancel'; readonly spares: number }
  | { readonly kind: 'expire'; readonly at: number; readonly limit: number };

const TRANSITIONS = {
  ask: (task: Task, at: number) => ask(task, `key ${task.version}`, { method: 'roots/list', params: { at } }, at),
  answer: (task: Task, at: number) => answer(task, { 'key 1': { roots: [] }, 'key 2': { at } }, at),
  describe: (task: Task, at: number) => describe(task, `at ${at}`, at),
  park: (task: Task, at: number) => park(task, at % 2 === 0 ? at : undefined),
  hold: (task: Task, at: number) => hold(task, 'no code', at),
  release,
  finish: (task: Task, at: number) => finish(task, { kind: 'error', error: { code: at, message: 'no' } }, at),
  cancel,
};

const time = fc.integer({ min: 0, max: 300 });
const task = fc.nat(9);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('create'),
      deadlineMs: time,
      principal: fc.constantFrom('local', 'anonymous'),
      seq: fc.nat(1),
      key: fc.constantFrom(undefined, undefined, 'a', 'b'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('change'),
      task,
      transition: fc.constantFrom(...keysOf(TRANSITIONS)),
      at: time,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('append'), task, seq: fc.nat(4), count: fc.nat(2) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('log'),
      task,
      event: fc.constantFrom<LoggedEvent>({ kind: 'parked' }, { kind: 'progress', message: 'on' }),
      count: fc.constantFrom(1, 3, 250),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('subtasks'), task, count: fc.nat(3), again: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wake'), task, other: task }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('tree'),
      task,
      transition: fc.constantFrom('ask', 'cancel'),
      spares: fc.nat(20),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('createAgain', 'noChange', 'throw', 'moveDeadline'), task }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire'), at: time, limit: fc.constant(100) }) },
);
/** Commits of commands. */
const history = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 12 });

test('both stores make the same of every history of commands', { timeout: 60_000 }, async () => {
  // Where the machine is slow, the commands of one iteration share out among commits, and news merge per commit.
  const elapsed = vi.spyOn(performance, 'now').mockReturnValue(0);
  onTestFinished(() => elapsed.mockRestore());
  await fc.assert(
    fc.asyncProperty(history, async (commits) => {
      expect(await live(sqlite(':memory:', { clock: () => 0 }), commits)).toEqual(
        await live(memory({ clock: () => 0 }), commits),
      );
    }),
    { numRuns: 150 },
  );
});

/** Everything that can be seen of a store that lives through a history, with numbers in place of ids. */
async function live(store: Store, commits: readonly (readonly Step[])[]): Promise<unknown> {
  await store.open();
  const ids: string[] = [];
  const heard: Task[] = [];
  const seen: unknown[] = [heard];
  store.subscribe((state) => heard.push(state));
  for (const steps of commits) {
    const results = await Promise.allSettled(steps.map((each) => run(store, ids, each)));
    seen.push(results.map((result) => (result.status === 'rejected' ? String(result.reason) : result.value)));
    seen.push(await everything(store, ids));
  }
  await nextIteration();
  await store.close();
  return JSON.parse(
    JSON.stringify(seen, (_, value) =>
      typeof value === 'string' ? ids.reduce((text, id, index) => text.replaceAll(id, `#${index}`), value) : value,
    ),
  );
}

function run(store: Store, ids: string[], step: Step): Promise<unknown> {
  if (step.kind === 'expire') return store.expire(step.at, step.limit);
  if (step.kind === 'create') {
    const { principal, deadlineMs, seq, key } = step;
    const made = {
      ...fresh(store, ids),
      principal,
      deadlineAt: deadlineMs,
      expiresAt: deadlineMs + 50,
      wakeAt: deadlineMs >> 1,
      ...(key === undefined ? {} : { idempotency: { key, digest: 'd' } }),
    };
    return create(store, made, [begin(seq, 'a')]);
  }
  const id = ids[step.task % ids.length] ?? 'none';
  if (step.kind === 'createAgain')
    return ids.length === 0 ? Promise.resolve() : create(store, { ...fresh(store, ids), id });
  if (step.kind === 'subtasks') {
    // An id is asked for before the commit; whose child it names is decided in it.
    const made = Array.from({ length: step.count }, () => fresh(store, ids));
    if (step.again && made.length > 1) made[1] = { ...made[1]!, id: made[0]!.id };
    return store.change(id, (state) => ({
      task: state,
      subtasks: made.map((each, index) => below(state, each, index)),
    }));
  }
  if (step.kind === 'wake') {
    const other = ids[step.other % ids.length] ?? 'none';
    return store.change(id, (state) => ({ task: state, wakes: other }));
  }
  if (step.kind === 'tree') {
    return store.changeTree(id, (state) => {
      if (state.id === ids[step.spares]) throw new Error('not this one');
      return { task: TRANSITIONS[step.transition](state, 0), events: [{ kind: 'cancel_asked' }] };
    });
  }
  return store.change(id, (state) => decided(state, step));
}

function decided(state: Task, step: Step): Change | undefined {
  if (step.kind === 'change') return { task: TRANSITIONS[step.transition](state, step.at) };
  if (step.kind === 'log') return { task: state, events: Array.from({ length: step.count }, () => step.event) };
  if (step.kind === 'append') return { task: state, entries: entriesFrom(step.seq, step.count) };
  if (step.kind === 'moveDeadline') return { task: { ...state, deadlineAt: state.deadlineAt + 1 } };
  if (step.kind === 'throw') throw new Error('decided not to');
  return undefined;
}

/** A task of a time of its own: which of two comes first at the same time is open. */
function fresh(store: Store, ids: string[]): Task {
  const task = newTask(store);
  ids.push(task.id);
  return { ...task, createdAt: ids.length };
}

function below(parent: Task, task: Task, index: number): Task {
  const { root = parent.id, path = '' } = parent.parent ?? {};
  const key = `${index}`;
  return { ...task, principal: parent.principal, parent: { id: parent.id, root, key, path: `${path}/${key}` } };
}

async function everything(store: Store, ids: readonly string[]): Promise<unknown> {
  const byTime = (await store.due(50, 250)).map(
    ({ id, wakeAt }) => `${String(wakeAt).padStart(3, '0')} ${ids.indexOf(id)}`,
  );
  const overdue = (await store.overdue(150, 100)).map((id) => ids.indexOf(id));
  const held = (await store.held()).map((id) => ids.indexOf(id));
  return {
    tasks: await Promise.all(ids.map((id) => store.read(id))),
    journals: await Promise.all(ids.map((id) => store.journal(id))),
    events: await Promise.all(ids.map((id) => store.events(id, 0, 2000))),
    page: await Promise.all(ids.map((id) => store.events(id, 400, 50))),
    subtasks: await Promise.all(ids.map((id) => store.subtasks(id))),
    asking: await Promise.all(ids.map((id) => store.asking(id))),
    listed: [
      await store.list('local', { limit: 4 }),
      await store.list('anonymous', { limit: 4, after: ids[1] ?? 'none', statuses: ['working', 'cancelled'] }),
    ],
    live: [await store.live('local'), await store.live('anonymous')],
    // Which of two goes first at the same time is open.
    due: byTime.toSorted(),
    times: byTime.map((text) => text.slice(0, 3)),
    overdue: overdue.toSorted(),
    held: held.toSorted(),
  };
}

function entriesFrom(seq: number, count: number): JournalEntry[] {
  return Array.from({ length: count }, (_, index) => begin(seq + index, `entry ${seq + index}`));
}

function keysOf<T extends object>(value: T): (keyof T)[] {
  return Object.keys(value) as (keyof T)[];
}
