import type { JsonValue } from '../json.ts';
import type { Store } from '../store.ts';
import { principalKey } from '../task/principal.ts';
import type { Idempotency, Task } from '../task/task.ts';
import type { Admission } from './admission.ts';
import type { TaskCommands } from './commands.ts';
import type { CallAnswer, Caller, OnTask, ToolCall } from './engine.ts';
import { plain, type Holding } from './holding.ts';
import { idempotencyOf, keyConflict } from './idempotency.ts';
import { newTask } from './new-task.ts';
import type { RegisteredTool } from './registry.ts';
import { stateAfter } from './waiting.ts';
import type { Waits } from './waits.ts';

/** A call with an idempotency key. */
export type KeyedCall = ToolCall & { readonly idempotencyKey: string };

/**
 * Answers calls with an idempotency key: however often one is made, there is one task, which is on disk before it
 * runs and keeps the result, also where that is answered at once. Whoever comes back to it takes up no room, so that
 * limits hold for what makes a task alone.
 */
export interface Once {
  /** Answers a call that was made before; `undefined` where there is no task of it. */
  again(tool: RegisteredTool, call: KeyedCall, caller: Caller, onTask?: OnTask): Promise<CallAnswer | undefined>;
  /** Answers a call by its task, which is made where it is not there. */
  begin(
    tool: RegisteredTool,
    call: KeyedCall,
    caller: Caller,
    prepared: JsonValue | undefined,
    onTask?: OnTask,
  ): Promise<CallAnswer>;
}

export interface OnceParts {
  readonly store: Store;
  readonly commands: TaskCommands;
  readonly holding: Holding;
  readonly waits: Waits;
  readonly admission: Admission;
}

export function createOnce({ store, commands, holding, waits, admission }: OnceParts): Once {
  /** Searches that are under way, and make the task where they find none: calls that come meanwhile share them. */
  const underWay = new Map<string, Promise<Task>>();

  function find(tool: RegisteredTool, call: KeyedCall, { principal }: Caller): Promise<Task | undefined> {
    return store.keyed(principalKey(principal), tool.name, call.idempotencyKey);
  }

  function findOrMake(
    tool: RegisteredTool,
    call: KeyedCall,
    caller: Caller,
    prepared: JsonValue | undefined,
  ): Promise<Task> {
    const name = JSON.stringify([principalKey(caller.principal), tool.name, call.idempotencyKey]);
    const search = async (): Promise<Task> =>
      (await find(tool, call, caller)) ?? (await make(tool, call, caller, prepared));
    const found = underWay.get(name) ?? search().finally(() => underWay.delete(name));
    underWay.set(name, found);
    return found;
  }

  async function make(
    tool: RegisteredTool,
    call: KeyedCall,
    caller: Caller,
    prepared: JsonValue | undefined,
  ): Promise<Task> {
    const { begun, answered } = await admission.admit(caller.principal, tool.name);
    let made = false;
    try {
      const task = newTask(store, tool, call, caller, prepared);
      begun(task.id);
      const kept = await store.create(() => ({ task }));
      // Another process may have been quicker.
      made = kept.id === task.id;
      return kept;
    } finally {
      answered(made);
    }
  }

  async function answerBy(
    task: Task,
    { digest }: Idempotency,
    tool: RegisteredTool,
    call: KeyedCall,
    caller: Caller,
    onTask: OnTask | undefined,
  ): Promise<CallAnswer> {
    if (task.idempotency?.digest !== digest) throw keyConflict(tool.name);
    if (!call.takesTasks) {
      // What was answered before there was a task is no answer to its questions (E-7).
      const { inputResponses: _, ...bare } = call;
      return holding.goOn(tool, bare, caller, task.id, onTask);
    }
    if (tool.task === 'always' || call.wantsTask) return { kind: 'task', task };
    const patient = task.createdAt + tool.patienceMs;
    const seen = await stateAfter(waits.begin(patient - store.now()), commands, task.id, caller);
    // By its own times, so that whoever asks again is answered as before.
    const wasQuick = seen.outcome !== undefined && seen.lastUpdatedAt <= patient;
    return wasQuick ? plain(seen.outcome) : { kind: 'task', task: seen };
  }

  return {
    async again(tool, call, caller, onTask) {
      const idempotency = idempotencyOf(call.idempotencyKey, call, caller.principal);
      const task = await find(tool, call, caller);
      return task && answerBy(task, idempotency, tool, call, caller, onTask);
    },
    async begin(tool, call, caller, prepared, onTask) {
      const idempotency = idempotencyOf(call.idempotencyKey, call, caller.principal);
      const task = await findOrMake(tool, call, caller, prepared);
      return answerBy(task, idempotency, tool, call, caller, onTask);
    },
  };
}

export function isKeyed(call: ToolCall): call is KeyedCall {
  return call.idempotencyKey !== undefined;
}
