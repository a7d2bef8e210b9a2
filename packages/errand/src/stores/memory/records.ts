import type { Change, LiveCounts } from '../../store.ts';
import type { LoggedEvent, StoredEvent } from '../../task/event.ts';
import type { JournalEntry } from '../../task/journal.ts';
import { isTerminal, type Task } from '../../task/task.ts';
import { assertNext } from '../change.ts';
import { isTooLong, numbered, rowsOf, thin, type LogRow, type Thinned } from '../log.ts';

/** What is asked for over all tasks. */
export type Facts = Pick<
  Task,
  'id' | 'principal' | 'status' | 'createdAt' | 'deadlineAt' | 'expiresAt' | 'wakeAt' | 'held' | 'paused'
> & { readonly parent: string | undefined; readonly root: string | undefined; readonly once: string | undefined };

/** Texts, as a disk would keep them: nobody who got a task, or gave one, can reach into the record. */
export interface Kept {
  readonly text: string;
  readonly facts: Facts;
  /** Both grow in place: so much of them belongs to this state of the task. */
  readonly journal: { readonly lines: string[]; readonly length: number };
  readonly log: { readonly rows: KeptRow[]; readonly length: number };
  readonly thinned: Thinned | undefined;
}

interface KeptRow extends LogRow {
  readonly text: string;
}

/** The tasks, what is found by, and how to take back what a command did to them. */
export class Records {
  readonly #tasks = new Map<string, Kept>();
  readonly #children = new Map<string, Set<string>>();
  readonly #live = new Map<string, number>();
  readonly #liveCounts = { working: 0, input_required: 0 };
  /** The tasks by what keeps a client from making them twice. */
  readonly #once = new Map<string, string>();
  #undo: (readonly [id: string, before: Kept | undefined])[] = [];

  get(id: string): Kept | undefined {
    return this.#tasks.get(id);
  }

  all(): Iterable<Kept> {
    return this.#tasks.values();
  }

  /** In the order of their creation. */
  childrenOf(id: string): Kept[] {
    const children = [...(this.#children.get(id) ?? [])].map((child) => this.#tasks.get(child)!);
    return children.sort((one, other) => one.facts.createdAt - other.facts.createdAt);
  }

  withKey(principal: string, tool: string, key: string): Kept | undefined {
    const id = this.#once.get(onceOf(principal, tool, key));
    return id === undefined ? undefined : this.#tasks.get(id);
  }

  withKeyOf({ principal, tool, idempotency }: Task): Kept | undefined {
    return idempotency && this.withKey(principal, tool, idempotency.key);
  }

  live(principal: string): number {
    return this.#live.get(principal) ?? 0;
  }

  liveCounts(): LiveCounts {
    return { ...this.#liveCounts };
  }

  /** Keeps a state of a task with what is new beside it. Throws, with nothing done, where it cannot be kept. */
  keep(task: Task, { entries = [], events = [] }: Pick<Change, 'entries' | 'events'>, now: number): void {
    const before = this.#tasks.get(task.id);
    assertNext(entries, before?.journal.length ?? 0);
    const lines = entries.map((entry) => JSON.stringify(entry));
    const rows = rowsOf(events, task.events - events.length, now).map(textOf);
    const text = JSON.stringify(task);
    const journal = before?.journal.lines ?? [];
    for (const line of lines) journal.push(line);
    this.#set(task.id, {
      text,
      facts: factsOf(task),
      journal: { lines: journal, length: journal.length },
      ...logged(before, rows, task.events),
    });
  }

  remove(id: string): void {
    this.#set(id, undefined);
  }

  /** What was done since cannot be taken back any more. */
  settle(): void {
    this.#undo = [];
  }

  /** Takes back what was done since it was settled last. */
  takeBack(): void {
    const undo = this.#undo;
    this.#undo = [];
    for (const [id, before] of undo.reverse()) {
      if (before !== undefined) {
        before.journal.lines.length = before.journal.length;
        before.log.rows.length = before.log.length;
      }
      this.#put(id, before);
    }
  }

  #set(id: string, kept: Kept | undefined): void {
    this.#undo.push([id, this.#tasks.get(id)]);
    this.#put(id, kept);
  }

  #put(id: string, kept: Kept | undefined): void {
    const before = this.#tasks.get(id);
    if (before !== undefined && !isTerminal(before.facts)) this.#count(before.facts, -1);
    if (kept === undefined) {
      this.#tasks.delete(id);
      if (before !== undefined) this.#unlink(before.facts);
      return;
    }
    this.#tasks.set(id, kept);
    if (before === undefined) this.#link(kept.facts);
    if (!isTerminal(kept.facts)) this.#count(kept.facts, 1);
  }

  #link({ id, parent, once }: Facts): void {
    if (once !== undefined) this.#once.set(once, id);
    if (parent === undefined) return;
    const children = this.#children.get(parent);
    if (children === undefined) this.#children.set(parent, new Set([id]));
    else children.add(id);
  }

  #unlink({ id, parent, once }: Facts): void {
    if (once !== undefined) this.#once.delete(once);
    const children = parent === undefined ? undefined : this.#children.get(parent);
    children?.delete(id);
    if (children?.size === 0) this.#children.delete(parent!);
  }

  #count({ principal, status, parent }: Facts, difference: number): void {
    this.#liveCounts[status as keyof LiveCounts] += difference;
    if (parent !== undefined) return;
    const live = this.live(principal) + difference;
    if (live === 0) this.#live.delete(principal);
    else this.#live.set(principal, live);
  }
}

export function taskOf(kept: Kept): Task {
  return JSON.parse(kept.text) as Task;
}

export function journalOf({ journal }: Kept): JournalEntry[] {
  return journal.lines.map((line) => JSON.parse(line) as JournalEntry);
}

export function eventsOf({ log }: Kept, after: number, limit: number): StoredEvent[] {
  const found: StoredEvent[] = [];
  for (const { first, last, at, text } of log.rows) {
    if (last <= after) continue;
    found.push(...numbered(JSON.parse(text) as LoggedEvent[], first, at).filter(({ seq }) => seq > after));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

/** A log with rows more, thinned where it is too long then. */
function logged(before: Kept | undefined, fresh: readonly KeptRow[], events: number): Pick<Kept, 'log' | 'thinned'> {
  const rows = before?.log.rows ?? [];
  for (const row of fresh) rows.push(row);
  if (!isTooLong(events, before?.thinned)) return { log: { rows, length: rows.length }, thinned: before?.thinned };
  const told = rows.filter(({ last }) => last !== before?.thinned?.seq);
  const { gone, thinned } = thin(told, before?.thinned);
  const left = told.filter((row) => !gone.includes(row));
  const { seq, at, count } = thinned;
  const mark = textOf({ first: seq, last: seq, isProgress: false, at, events: [{ kind: 'thinned', count }] });
  left.splice(
    left.findIndex(({ first }) => first > seq),
    0,
    mark,
  );
  return { log: { rows: left, length: left.length }, thinned };
}

function textOf({ events, ...row }: LogRow & { readonly events: readonly LoggedEvent[] }): KeptRow {
  return { ...row, text: JSON.stringify(events) };
}

function onceOf(principal: string, tool: string, key: string): string {
  return JSON.stringify([principal, tool, key]);
}

function factsOf(task: Task): Facts {
  const { id, principal, status, createdAt, deadlineAt, expiresAt, wakeAt, held, paused, parent, idempotency } = task;
  return {
    id,
    principal,
    status,
    createdAt,
    deadlineAt,
    expiresAt,
    parent: parent?.id,
    root: parent?.root,
    once: idempotency && onceOf(task.principal, task.tool, idempotency.key),
    ...(wakeAt === undefined ? {} : { wakeAt }),
    ...(held === undefined ? {} : { held }),
    ...(paused === undefined ? {} : { paused }),
  };
}
