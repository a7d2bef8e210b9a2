import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import { counting, type JournalEntry } from '../../src/task/journal.ts';
import { isTerminal, type Task } from '../../src/task/task.ts';
import type { Caller } from './caller.ts';
import { effectsOf, type Effect, type Line, type Seen } from './ledger.ts';
import { SCENARIOS } from './scenarios.ts';
import { checkGraphs } from './graphs.ts';
import type { Kept, Remains } from './site.ts';
import type { Tally } from './tally.ts';

/** All that is known of a run once it is over. */
export interface Evidence {
  readonly callers: readonly Caller[];
  /** What was in the file after each life, in order. */
  readonly remains: readonly Remains[];
  readonly ledger: readonly Line[];
  readonly wasKilled: boolean;
}

/** Compares what clients were told, what is in the file, and what took place outside. */
export function checkEvidence({ callers, remains, ledger, wasKilled }: Evidence, tally: Tally): void {
  const effects = effectsOf(ledger);
  /** As each task was last found. */
  const latest = new Map<string, Kept>();
  for (const { tasks } of remains) for (const [id, kept] of tasks) latest.set(id, kept);

  checkJournals(remains, tally);
  for (const caller of callers) {
    checkCommitments(caller, remains, tally);
    checkOutcome(caller, latest.get(caller.taskId ?? ''), wasKilled, tally);
  }
  checkEffects(effects, remains, latest, tally);
  checkPauses(callers, effects, latest, tally);
  checkCreations(remains, tally);
  for (const { tasks } of remains) checkGraphs(tasks, tally);
  for (const [id, { task }] of latest) {
    tally.check('server', task.held === undefined, () => `${task.tool} ${id} is held: ${task.held}`);
  }
}

function checkCommitments(caller: Caller, remains: readonly Remains[], tally: Tally): void {
  for (const { life, check, what, holds } of caller.commitments) {
    for (const { tasks } of remains.filter((found) => found.life >= life)) {
      const task = tasks.get(caller.taskId!)?.task;
      tally.check(
        check,
        holds(task, tasks),
        () => `${nameOf(caller)}: ${what} is not in the file: ${JSON.stringify(task)}`,
      );
    }
  }
}

function checkOutcome(caller: Caller, kept: Kept | undefined, wasKilled: boolean, tally: Tally): void {
  const { scenario, end, result } = caller;
  const other = end === undefined || !wasKilled ? undefined : scenario.otherEnds?.[end];
  tally.check('outcomes', end === scenario.end || other !== undefined, () =>
    end === undefined
      ? `${nameOf(caller)} did not end; it reads ${JSON.stringify(caller.view)}`
      : `${nameOf(caller)} ended with "${end}", and unkilled with "${scenario.end}"`,
  );
  tally.count(end === scenario.end ? 'as unkilled' : `${scenario.name}: ${other ?? end}`);
  if (result === undefined || kept === undefined) return;
  for (const seen of (result['structuredContent'] as JsonObject)['seen'] as unknown as readonly Seen[]) {
    checkSeen('results', seen, kept.journal, tally, () => nameOf(caller));
  }
}

function checkJournals(remains: readonly Remains[], tally: Tally): void {
  const before = new Map<string, Kept>();
  for (const { tasks } of remains) {
    for (const [id, kept] of tasks) {
      const wrong = faultOf(kept.journal) ?? lostOf(before.get(id), kept);
      tally.check('journals', wrong === undefined, () => `${kept.task.tool} ${id}: ${wrong}`);
      before.set(id, kept);
    }
  }
}

/** What is wrong with a journal in itself. */
function faultOf(journal: readonly JournalEntry[]): string | undefined {
  const begins = new Set<number>();
  const names = new Set<string>();
  const ends = new Set<number>();
  const gap = journal.findIndex(({ seq }, index) => seq !== index);
  if (gap >= 0) return `entry ${journal[gap]!.seq} stands where ${gap} belongs`;
  for (const entry of counting(journal)) {
    if (entry.type === 'begin') {
      const name = `${entry.kind} ${entry.name} ${entry.ordinal}`;
      if (names.has(name)) return `${name} begins twice`;
      names.add(name);
      begins.add(entry.seq);
    } else {
      if (!begins.has(entry.begin)) return `entry ${entry.seq} ends what did not begin`;
      if (ends.has(entry.begin)) return `entry ${entry.begin} ends twice`;
      ends.add(entry.begin);
    }
  }
  return undefined;
}

/** What was there, and is not there any more. */
function lostOf(before: Kept | undefined, after: Kept): string | undefined {
  if (before === undefined) return undefined;
  const { task } = before;
  const isSame = isDeepStrictEqual(before.journal, after.journal.slice(0, before.journal.length));
  if (!isSame) return 'the journal is not what it was, and more';
  if (after.task.version < task.version) return 'its version went back';
  if (isTerminal(task) && !isDeepStrictEqual(task, after.task)) return 'it had ended, and is otherwise now';
  return undefined;
}

function checkEffects(
  effects: readonly Effect[],
  remains: readonly Remains[],
  latest: ReadonlyMap<string, Kept>,
  tally: Tally,
): void {
  const keys = new Map<string, string>();
  const once = new Set<string>();
  for (const effect of effects) {
    const { task, step, life, key } = effect;
    const name = `${latest.get(task)?.task.tool ?? 'a call'} ${task}, "${step}" in life ${life}`;
    const place = `${task} ${step}`;

    const earlier = remains.filter((found) => found.life < life).flatMap(({ tasks }) => tasks.get(task) ?? []);
    const recorded = earlier.some(({ task, journal }) => isDone(task, recordOf(journal, 'step', step)));
    tally.check('steps', !recorded, () => `${name}: it was on record before`);
    const ended = earlier.some((kept) => isTerminal(kept.task));
    tally.check('ends', !ended, () => `${name}: its task had ended before`);

    const kept = latest.get(task);
    for (const seen of kept === undefined ? [] : effect.given)
      checkSeen('given', seen, kept!.journal, tally, () => name);

    tally.check('keys', (keys.get(place) ?? key) === key, () => `${name}: its key was another one before`);
    keys.set(place, key);
    if (!effect.once) continue;
    tally.check('once', !once.has(place), () => `${name}: once more`);
    once.add(place);
  }
  for (const [id, { task }] of latest) {
    const text = task.outcome?.kind === 'result' ? task.outcome.result.content[0]?.['text'] : undefined;
    if (text !== 'charged' && text !== 'not charged') continue;
    const tookPlace = once.has(`${id} charge`);
    tally.check('told', tookPlace === (text === 'charged'), () => `${task.tool} ${id} said "${text}"`);
  }
}

/** Whether a step is over for good; one that failed may be tried again with its whole run. */
function isDone({ tool }: Task, record: JsonValue | undefined): boolean {
  if (record === undefined) return false;
  const isFailure = typeof record === 'object' && record !== null && Object.hasOwn(record, 'failure');
  return !isFailure || SCENARIOS.find(({ name }) => name === tool)?.options?.retry === undefined;
}

/** How long it may take until those hear of a pause that it holds up, in ms. */
const HEARD_WITHIN = 250;

function checkPauses(
  callers: readonly Caller[],
  effects: readonly Effect[],
  latest: ReadonlyMap<string, Kept>,
  tally: Tally,
): void {
  for (const caller of callers) {
    const { pause, taskId } = caller;
    if (pause === undefined) continue;
    const { from, until = Infinity } = pause;
    for (const { task, step, at } of effects) {
      if (task !== taskId && latest.get(task)?.task.parent?.root !== taskId) continue;
      const holds = at < from + HEARD_WITHIN || at >= until;
      tally.check('pauses', holds, () => `${nameOf(caller)}: "${step}" began ${at - from} ms after the pause`);
    }
  }
}

function checkCreations(remains: readonly Remains[], tally: Tally): void {
  for (const { tasks } of remains) {
    const keyed = [...tasks.values()].flatMap(({ task }) => (task.idempotency === undefined ? [] : [task]));
    for (const { id, tool, idempotency } of keyed) {
      const same = keyed.filter((other) => other.idempotency!.key === idempotency!.key);
      tally.check('creations', same.length === 1, () => `${tool} ${id}: its key has ${same.length} tasks`);
    }
  }
}

function checkSeen(
  check: 'given' | 'results',
  [kind, name, value]: Seen,
  journal: readonly JournalEntry[],
  tally: Tally,
  where: () => string,
): void {
  const kept = recordOf(journal, kind, name, value);
  tally.check(check, kept !== undefined && isDeepStrictEqual(kept, value), () => {
    return `${where()}: it was given ${kind} "${name}" as ${JSON.stringify(value)}; on record is ${JSON.stringify(kept)}`;
  });
}

/** What a journal has of a call. Of calls that share a name, such as sleeps, the one that fits, if there is one. */
function recordOf(
  journal: readonly JournalEntry[],
  kind: Seen[0],
  name: string,
  value?: JsonValue,
): JsonValue | undefined {
  const valid = counting(journal);
  const values = valid.flatMap((entry): JsonValue[] => {
    if (entry.type !== 'begin' || entry.kind !== kind || entry.name !== name) return [];
    if (kind === 'now' || kind === 'uuid') return [entry.value!];
    const end = valid.find((other) => other.type === 'end' && other.begin === entry.seq);
    if (end?.type !== 'end') return [];
    return ['value' in end.outcome ? end.outcome.value : { failure: end.outcome.failure.message }];
  });
  return values.find((candidate) => isDeepStrictEqual(candidate, value)) ?? values[0];
}

function nameOf({ scenario, taskId }: Caller): string {
  return `${scenario.name} ${taskId ?? '(no task)'}`;
}
