import * as z from 'zod';
import type { JsonValue } from '../../src/json.ts';
import type { Subtask, TaskContext, ToolResult } from '../../src/index.ts';
import { placesBefore, type Graph, type Plan } from './plan.ts';
import type { World } from './world.ts';

/** What handlers work with, and the tool that their subtasks call. */
export interface Stage {
  readonly world: World;
  /** The tool of all tasks; its argument is the path of a plan. */
  readonly tool: string;
  /** What is to be performed at a path that a handler comes to. */
  readonly plans: Map<string, Plan>;
  /** Whether handlers record what races come to, to see that it is the same in every run. */
  readonly decides: boolean;
}

/** Performs a plan as a handler would that was written so. `path` is a name that nothing else in the story has. */
export async function perform(stage: Stage, plan: Plan, path: string, task: TaskContext): Promise<JsonValue> {
  const { world } = stage;
  switch (plan.kind) {
    case 'step':
      return task.step(path, () => world.effect(path, plan.fails));
    case 'ask':
      return ask(world, plan.fails, path, task);
    case 'sleep':
      await sleep(world, path, task);
      return `slept at ${path}`;
    case 'now':
      return decide(stage, path, task, Promise.resolve(stage.decides ? task.now() : task.now() > 0));
    case 'sequence': {
      const came = [];
      for (const [index, part] of plan.parts.entries()) {
        came.push(await perform(stage, part, `${path}.${index}`, task).catch(messageOf));
      }
      return came;
    }
    case 'graph':
      return decide(stage, path, task, joined(plan.join, begun(stage, plan, path, task)));
    default: {
      const branches = plan.parts.map(async (part, index) => {
        const branch = `${path}.${index}`;
        await sleep(world, branch, task); // so that branches differ in how long they take
        return perform(stage, part, `${branch}.`, task);
      });
      return decide(stage, path, task, joined(plan.kind, branches));
    }
  }
}

async function ask(world: World, unheard: boolean, path: string, task: TaskContext): Promise<string> {
  const schema = z.object({ word: z.string() });
  const timeout = unheard ? { timeout: world.lasts(path) } : {};
  const { content } = await task.elicit(unheard ? `${path} ${UNHEARD}` : path, { message: path, schema, ...timeout });
  return content!.word;
}

/** Ends the keys of questions that nobody answers. */
export const UNHEARD = 'unheard';

async function sleep(world: World, path: string, task: TaskContext): Promise<void> {
  const ms = world.lasts(path);
  if (ms > 0) await task.sleep(ms);
}

function begun(stage: Stage, { nodes, backwards }: Graph, path: string, task: TaskContext): Promise<JsonValue>[] {
  const keyOf = (place: number): string => `${path}-${place}`;
  const places = [...nodes.keys()];
  // Of two at once, chance decides which is the first.
  const atOnce = nodes.findIndex(({ cancelled }) => cancelled === 'at once');
  const handles = new Map<number, Subtask>();
  for (const place of backwards ? places.reverse() : places) {
    const node = nodes[place]!;
    const { plan, onFailure, onParentExit, cancelled } = node;
    const key = keyOf(place);
    stage.plans.set(key, plan);
    const after = placesBefore(node, place).map(keyOf);
    const subtask = task.subtask(key, stage.tool, { path: key }, { after, onFailure, onParentExit });
    if (place === atOnce) subtask.cancel();
    else if (cancelled !== 'never') void sleep(stage.world, `${key} cancel`, task).then(() => subtask.cancel());
    handles.set(place, subtask);
  }
  return nodes.map(async (_, place) => textOf(await handles.get(place)!));
}

async function joined(join: Graph['join'], branches: readonly Promise<JsonValue>[]): Promise<JsonValue> {
  for (const branch of branches) branch.catch(() => undefined); // nobody may wait for it
  switch (join) {
    case 'all':
      return Promise.all(branches);
    case 'settled':
      return Promise.all(branches.map((branch) => branch.catch(messageOf)));
    case 'race':
      return Promise.race(branches);
    case 'any':
      return Promise.any(branches);
    case 'none':
      return 'not waited for';
  }
}

/** Holds what a race or a join comes to, to what it came to in the first run that got there. */
async function decide(
  { decides, world }: Stage,
  path: string,
  task: TaskContext,
  coming: Promise<JsonValue>,
): Promise<JsonValue> {
  if (!decides) return coming;
  const came = await coming.then(
    (value) => ({ value }),
    (error: Error) => ({ failure: error.message }),
  );
  const text = JSON.stringify(came);
  const kept = await task.step(`${path} decided`, () => text);
  if (kept !== text) world.diverged.push(`${path} was ${kept}, and is ${text}`);
  if ('failure' in came) throw new Error(came.failure);
  return came.value;
}

function messageOf(error: Error): string {
  return `failed: ${error.message}`;
}

export function textOf({ content, isError }: ToolResult): string {
  const text = (content[0] as { text: string }).text;
  return isError === true ? `error: ${text}` : text;
}
