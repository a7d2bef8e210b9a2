import type { Change, Decide, Store } from '../../src/store.ts';
import type { JournalEntry } from '../../src/task/journal.ts';
import { isTerminal, type Task } from '../../src/task/task.ts';
import type { Ledger } from './ledger.ts';

/** When a server dies over a write. */
export const MOMENTS = ['before', 'committed', 'answered'] as const;

/**
 * `before`: it never reaches the store. `committed`: it is on disk, and whoever wrote it does not know.
 * `answered`: whoever wrote it knows, and what that led to at once has happened too.
 */
export type Moment = (typeof MOMENTS)[number];

/** A write that a server does not outlive. Writes to tasks and sweeps of expired ones are counted apart. */
export interface Point {
  readonly number: number;
  readonly sweep: boolean;
  readonly moment: Moment;
}

/** How long a write is held back before the server dies: time for what should have waited for it to show, in ms. */
const HELD_BACK = 25;

/** A store whose process kills itself at a point, and that notes each write. */
export function doomed(store: Store, ledger: Ledger, point: Point | undefined): Store {
  let writes = 0;
  let sweeps = 0;
  let isDoomed = false;

  async function write<T>(sweep: boolean, work: () => Promise<T>, what: (value: T) => string): Promise<T> {
    const number = sweep ? ++sweeps : ++writes;
    const moment = point?.sweep === sweep && point.number === number ? point.moment : undefined;
    // Writes that come after the held one must not overtake it.
    if (isDoomed) return new Promise(() => undefined);
    if (moment === 'before') {
      isDoomed = true;
      await new Promise((resolve) => setTimeout(resolve, HELD_BACK));
      die();
    }
    const value = await work();
    ledger.note({ type: 'write', number, sweep, what: what(value) });
    if (moment === 'committed') die();
    if (moment === 'answered') setImmediate(die);
    return value;
  }

  /** A change goes by what it does to the task that was decided on first. */
  function writeChange(work: (decide: Decide) => ReturnType<Store['change']>, decide: Decide) {
    let what: string | undefined;
    const noted: Decide = (task) => {
      const change = decide(task);
      what ??= change === undefined ? 'nothing' : nameOf(task, change);
      return change;
    };
    return write(
      false,
      () => work(noted),
      () => what ?? 'nothing',
    );
  }

  const watched: Pick<Store, 'create' | 'change' | 'changeTree' | 'expire'> = {
    create(make) {
      let what = 'nothing';
      const noted = () => {
        const creation = make();
        const { entries = [], subtasks = [] } = creation;
        what = subtasks.length > 0 ? 'a task with subtasks' : entries.length > 0 ? 'a task with a journal' : 'a task';
        return creation;
      };
      return write(
        false,
        () => store.create(noted),
        () => what,
      );
    },
    change: (id, decide) => writeChange((noted) => store.change(id, noted), decide),
    changeTree: (id, decide) => writeChange((noted) => store.changeTree(id, noted), decide),
    expire: (now, limit) =>
      write(
        true,
        () => store.expire(now, limit),
        (count) => (count === 0 ? 'a sweep of nothing' : 'a sweep'),
      ),
  };
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Object.hasOwn(watched, name) ? Reflect.get(watched, name) : Reflect.get(target, name);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;); // a signal may take a moment to come
}

/** What a change is, in a word or two, for the table of what was killed. */
function nameOf(before: Task, { task, entries = [], subtasks = [] }: Change): string {
  if (isTerminal(task)) return `the end as ${task.status}`;
  if (task.paused !== before.paused) return task.paused ? 'a pause' : 'a resume';
  if (task.steering !== before.steering) return 'a message';
  if (task.blocked !== before.blocked) return 'a subtask let run';
  if (task.retries !== before.retries) return 'another try';
  if (subtasks.length > 0) return 'a task for a subtask';
  for (const [key, { state }] of Object.entries(task.inputs)) {
    if (state === before.inputs[key]?.state) continue;
    return state === 'open' ? 'a question' : state === 'answered' ? 'an answer' : 'a question taken back';
  }
  if (task.held !== before.held) return 'a hold';
  if (task.runs !== before.runs) return 'the count of a run';
  if (entries.length > 0) return entriesName(entries);
  if (task.statusMessage !== before.statusMessage) return 'a text';
  return task.wakeAt === before.wakeAt ? 'nothing' : 'a park';
}

function entriesName(entries: readonly JournalEntry[]): string {
  const begins = entries.filter((entry) => entry.type === 'begin').map(({ kind }) => kind);
  return begins.length < entries.length ? 'the end of a call' : `the begin of a call (${begins.join(', ')})`;
}
