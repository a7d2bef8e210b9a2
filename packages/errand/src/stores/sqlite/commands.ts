import type { Change, Creation, Decide } from '../../store.ts';
import { isTerminal, type Task } from '../../task/task.ts';
import { assertNext, begun, changed, idTaken, keyTaken, woken } from '../change.ts';
import type { Written } from '../commits.ts';
import type { Connection } from './connection.ts';
import { openingOf } from './events.ts';
import type { StoredTask } from './row.ts';

/*
 * What commands do to a file, within the transaction of a commit. What is wrong with a command shows
 * before it writes, as far as can be: to undo a part of a transaction is expensive.
 */

const NONE: readonly Task[] = [];

export function create(file: Connection, make: () => Creation, now: number): Written<Task> {
  const { task, entries = [], events = [], subtasks } = make();
  const { principal, tool, idempotency } = task;
  const known = idempotency && file.tasks.withKey(principal, tool, idempotency.key);
  if (known !== undefined && known.task.expiresAt > now) return { value: known.task, changed: NONE };
  if (known !== undefined) remove(file, [known.place.row]);
  const first = begun(task, events);
  assertNext(entries, 0);
  const opening = events.length === 0 || task.events > 0 ? undefined : openingOf(events, now);
  const { place } = insert(file, first, entries.length, opening && JSON.stringify(opening));
  if (entries.length > 0) file.journal.append(place.row, entries);
  const rest = opening === undefined ? events : events.slice(opening.events.length);
  // The task is written already, and could not keep what is thinned: the next change sees to that.
  if (rest.length > 0) file.events.add(place.row, rest, first.events - rest.length, now);
  file.keepTime(now);
  return { value: first, changed: subtasks === undefined ? [first] : [first, ...insertAll(file, subtasks)] };
}

export function change(file: Connection, id: string, decide: Decide, now: number): Written<Task | undefined> {
  const before = find(file, id);
  return before === undefined ? { value: undefined, changed: NONE } : decideOn(file, before, decide, now);
}

export function changeTree(file: Connection, id: string, decide: Decide, now: number): Written<Task | undefined> {
  const before = find(file, id);
  if (before === undefined) return { value: undefined, changed: NONE };
  const changed = [...decideOn(file, before, decide, now).changed];
  for (const row of file.queries.liveDescendants(before.place.row)) {
    // What was decided on others may have changed it.
    const descendant = file.tasks.readRow(row)!;
    if (!isTerminal(descendant.task)) changed.push(...decideOn(file, descendant, decide, now).changed);
  }
  return { value: find(file, id)!.task, changed };
}

export function expire(file: Connection, now: number, limit: number): Written<number> {
  const rows = file.queries.expired(now, limit);
  if (rows.length > 0) remove(file, rows);
  file.shrink();
  return { value: rows.length, changed: NONE };
}

function find(file: Connection, id: string): StoredTask | undefined {
  const known = file.recent.latest(id);
  if (known !== undefined) return known;
  const place = file.ids.unseal(id);
  return place && file.tasks.read(id, place);
}

function decideOn(file: Connection, before: StoredTask, decide: Decide, now: number): Written<Task> {
  const change = decide(before.task);
  const next = changed(before.task, change);
  if (next === undefined) return { value: before.task, changed: NONE };
  const { entries = [], events = [], subtasks, wakes } = change!;
  assertNext(entries, before.entries);
  const { row } = before.place;
  if (entries.length > 0 || events.length > 0) file.writes++;
  if (entries.length > 0) file.journal.append(row, entries);
  const thinned =
    events.length === 0
      ? before.thinned
      : file.events.append(row, events, next.events - events.length, before.thinned, now);
  file.writes++;
  const after = file.tasks.update(before, next, before.entries + entries.length, thinned);
  if (after === undefined) throw new Error(`${next.id} changed meanwhile`);
  file.recent.keep(after);
  file.keepTime(now);
  if (subtasks === undefined && wakes === undefined) return { value: next, changed: [next] };
  return { value: next, changed: [next, ...insertAll(file, subtasks ?? []), ...wake(file, change!, now)] };
}

function insert(file: Connection, task: Task, entries: number, opening?: string): StoredTask {
  const place = file.ids.unseal(task.id);
  if (place === undefined) throw new TypeError(`${task.id} is not an id of this store`);
  file.writes++;
  try {
    const stored = file.tasks.insert(place, task, entries, opening);
    file.recent.keep(stored);
    return stored;
  } catch (thrown) {
    const { code } = thrown as { code?: unknown };
    if (code === 'SQLITE_CONSTRAINT_PRIMARYKEY') throw idTaken(task.id);
    throw code === 'SQLITE_CONSTRAINT_UNIQUE' ? keyTaken(task.id) : thrown;
  }
}

function insertAll(file: Connection, subtasks: readonly Task[]): Task[] {
  return subtasks.map((task) => insert(file, begun(task, undefined), 0).task);
}

function wake(file: Connection, { wakes }: Change, now: number): Task[] {
  if (wakes === undefined) return [];
  const known = file.recent.latest(wakes);
  if (known !== undefined && woken(known.task, now) === undefined) return [];
  const place = known?.place ?? file.ids.unseal(wakes);
  file.writes++;
  if (place === undefined || !file.tasks.wake(place, now)) return [];
  const stored = known === undefined ? file.tasks.read(wakes, place)! : { ...known, task: woken(known.task, now)! };
  file.recent.keep(stored);
  return [stored.task];
}

function remove(file: Connection, rows: readonly number[]): void {
  file.writes++;
  file.tasks.remove(rows);
  file.recent.forget(new Set(rows));
}
