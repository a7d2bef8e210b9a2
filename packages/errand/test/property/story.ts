import { testErrand, virtualClock, type TestErrand } from '../../src/testing.ts';
import type { Errand } from '../../src/index.ts';
import * as z from 'zod';
import type { JsonValue } from '../../src/json.ts';
import type { Store } from '../../src/store.ts';
import { isTerminal, type Task, type ToolResult } from '../../src/task/task.ts';
import { openInputs } from '../../src/task/transitions.ts';
import { mortal, type Death } from './mortal.ts';
import { perform, textOf, UNHEARD, type Stage } from './perform.ts';
import type { Plan } from './plan.ts';
import { witness } from './witness.ts';
import { withoutNumbers, type World } from './world.ts';

/** How a story is told: over which store, and where its servers die. */
export interface Telling {
  readonly world: World;
  readonly openStore: (clock: () => number) => Store;
  /** How each server dies, but for the last one, which sees everything to its end. */
  readonly deaths: readonly Death[];
  /** Before which rounds, of answers or of time, everything is paused and resumed. */
  readonly pauses?: readonly number[];
  /** Whether what is decided is recorded. */
  readonly decides?: boolean;
}

/** What a plan came to. */
export interface Story {
  /** Each task by its path, the root first, and how it ended. */
  readonly ends: readonly string[];
  /** What must never be so, and was. */
  readonly wrong: readonly string[];
  /** How many servers died. */
  readonly deaths: number;
}

const ROOT = 'root';

/** Begins the tool with a plan, and sees it through to the end, with one server after the other. */
export async function tell(plan: Plan, telling: Telling): Promise<Story> {
  const { world, openStore, deaths, pauses = [], decides = false } = telling;
  const clock = virtualClock();
  const inner = openStore(clock.now);
  const { wrong, asking, stop } = witness(inner);
  const { store, doom } = mortal(inner);
  const stage: Stage = { world, tool: 'perform', plans: new Map([[ROOT, plan]]), decides };
  const t = await testErrand({ clock, store }, (errand) => define(errand, stage));
  let died = 0;
  let dying: Promise<void> | undefined;
  let death!: Promise<void>;

  /** From here on the server is doomed as the next one of them is. */
  function goOn(): void {
    dying = undefined;
    death = new Promise((resolve) =>
      doom(deaths[died], () => {
        died++;
        dying = t.crash();
        resolve();
      }),
    );
  }

  /** Has the next server up, and each that dies while it starts followed by another one. */
  async function revive(): Promise<void> {
    while (dying !== undefined) {
      await dying;
      goOn();
      await Promise.race([t.restart(), death]);
    }
  }

  try {
    const id = await t.client.begin(stage.tool, { path: ROOT });
    goOn();
    let isPaused = false;
    for (let round = 0; ;) {
      await clock.settle();
      if (dying !== undefined) {
        await revive();
        continue;
      }
      if (isPaused) {
        await Promise.race([t.errand.resume(id), death]);
        isPaused = dying !== undefined;
        continue;
      }
      const root = (await inner.read(id))!;
      if (isTerminal(root)) break;
      if (pauses.includes(round++)) {
        isPaused = true;
        await Promise.race([t.errand.pause(id), death]);
        continue;
      }
      if (await answered(t, asking)) continue;
      if (!(await clock.advanceToNext())) throw new Error(`nothing comes any more; the root is ${root.status}`);
    }
    const tasks = await treeOf(inner, id);
    const lost = await Promise.all(tasks.map((task) => lostIn(inner, task)));
    // Subtasks are made in no certain order.
    const ends = tasks.map((task) => withoutNumbers(endOf(task))).sort();
    return { ends, wrong: [...wrong, ...world.diverged, ...lost.flat()], deaths: died };
  } finally {
    doom(undefined, () => undefined);
    await t.close();
    stop();
  }
}

function define(errand: Errand, stage: Stage): void {
  const inputSchema = z.object({ path: z.string() });
  const options = { task: 'always', deadline: '36500d', inputSchema } as const;
  errand.tool(stage.tool, options, async ({ path }, task) => {
    const ms = stage.world.lasts(path);
    if (ms > 0) await task.sleep(ms);
    return JSON.stringify(await perform(stage, stage.plans.get(path)!, path, task));
  });
}

/** Answers what is asked, but for what nobody hears. */
async function answered({ client }: TestErrand, asking: Iterable<Task>): Promise<boolean> {
  let some = false;
  for (const task of asking) {
    const keys = Object.keys(openInputs(task)).filter((key) => !key.endsWith(UNHEARD));
    if (keys.length === 0) continue;
    some = true;
    const answers = keys.map((key) => [key, { action: 'accept', content: { word: `answer to ${key}` } }]);
    // Where the server dies over it, it is asked again.
    await client.answer(task.id, Object.fromEntries(answers)).catch(() => undefined);
  }
  return some;
}

/** A task and all below it, each after its parent. */
async function treeOf(store: Store, id: string): Promise<readonly Task[]> {
  const tasks = [(await store.read(id))!];
  // Grows while it is walked.
  for (const task of tasks) tasks.push(...(await store.subtasks(task.id)));
  return tasks;
}

/** Where a task did not get what a subtask came to, or has a subtask that it did not make, or made twice. */
async function lostIn(store: Store, task: Task): Promise<readonly string[]> {
  const [journal, subtasks] = await Promise.all([store.journal(task.id), store.subtasks(task.id)]);
  const path = pathOf(task);
  const made = journal.flatMap((entry) => (entry.type === 'begin' && entry.kind === 'subtask' ? [entry] : []));
  const wrong = subtasks.flatMap(({ id, parent, status }) => {
    const { seq } = made.find(({ name, value }) => name === parent!.key && value === id) ?? {};
    if (seq === undefined) return [`${path} has a subtask ${parent!.key} that is not in its journal`];
    const end = journal.find((entry) => entry.type === 'end' && entry.begin === seq);
    if (end?.type !== 'end') return [];
    const subtask = subtasks.find((other) => other.id === id)!;
    const given = 'value' in end.outcome ? textOf(end.outcome.value as unknown as ToolResult) : 'failure';
    return isSame(given, subtask) ? [] : [`${path} was given ${given} by ${parent!.key}, which is ${status}`];
  });
  const keys = new Set(subtasks.map(({ parent }) => parent!.key));
  if (keys.size !== subtasks.length) wrong.push(`${path} made a subtask twice`);
  return wrong;
}

function isSame(given: JsonValue, { outcome }: Task): boolean {
  const result = outcome?.kind === 'result' ? outcome.result : undefined;
  if (result !== undefined && result.isError !== true) return given === textOf(result);
  return given === 'failure' || (given as string).startsWith('error: ');
}

function endOf(task: Task): string {
  const { status, outcome } = task;
  if (outcome === undefined) return `${pathOf(task)}: ${status}`;
  return `${pathOf(task)}: ${status}, ${outcome.kind === 'result' ? textOf(outcome.result) : outcome.error.message}`;
}

function pathOf({ parent }: Task): string {
  return parent === undefined ? ROOT : parent.key;
}
