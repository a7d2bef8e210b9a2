import { ErrandError, RpcError, shuttingDown } from '../errors.ts';
import type { Executor } from '../executor.ts';
import type { Task, TaskOutcome } from '../task/task.ts';
import { isAsking, openQuestions } from './below.ts';
import { mayAsk } from './capabilities.ts';
import type { TaskCommands } from './commands.ts';
import type { CallAnswer, Caller, OnTask, ToolCall } from './engine.ts';
import { handedOff } from './handoff/words.ts';
import { handsOff, type Hold } from './hold.ts';
import type { RegisteredTool } from './registry.ts';
import type { RequestStates } from './request-state.ts';
import { onAbort, stateAfter } from './waiting.ts';
import type { Wait, Waits } from './waits.ts';

export interface HoldingParts {
  readonly executor: Executor;
  readonly commands: TaskCommands;
  readonly states: RequestStates;
  readonly waits: Waits;
}

/** Answers calls of clients that take no tasks: each is held until it has ended, asks, or was held for too long. */
export interface Holding {
  /** Begins the work of a call, and holds the call. */
  begin(tool: RegisteredTool, call: ToolCall, caller: Caller, task: Task, onTask?: OnTask): Promise<CallAnswer>;
  /** Holds a call that was made again, with answers to the questions of its task. */
  goOn(tool: RegisteredTool, call: ToolCall, caller: Caller, taskId: string, onTask?: OnTask): Promise<CallAnswer>;
  /** Resolves when all calls that are held by now have their answers. */
  answered(): Promise<unknown>;
}

export function createHolding({ executor, commands, states, waits }: HoldingParts): Holding {
  const held = new Set<Promise<CallAnswer>>();

  async function keep(answer: Promise<CallAnswer>): Promise<CallAnswer> {
    held.add(answer);
    try {
      return await answer;
    } finally {
      held.delete(answer);
    }
  }

  async function begin(tool: RegisteredTool, call: ToolCall, caller: Caller, task: Task, onTask?: OnTask) {
    const { hold } = tool;
    const wait = waits.begin(hold.holdMs);
    const attempt = executor.attempt(task, { sleepPersists: false });
    const stopTelling = onTask && attempt.watch(onTask);
    const stopAbort = onAbort(caller.signal, attempt.abandon);
    const stopWait = handsOff(hold) && !caller.signal.aborted ? wait.onceOver(handOff) : undefined;
    const came = await attempt.outcome.finally(() => {
      stopTelling?.();
      stopAbort();
      stopWait?.();
    });
    if (came.kind === 'ended') return plain(came.outcome);
    const { id } = came.task;
    return settled(wait, hold, call, caller, id, onTask).catch(async (error: unknown) => {
      // The client was given no way back: nobody will ever ask for this task.
      if (caller.signal.aborted || isDraining(error)) await commands.cancel(caller.principal, id);
      throw error;
    });

    function handOff(): void {
      // What cannot be run again would find its end with the server, which the caller had better hear now.
      if (tool.replay || !waits.ended) attempt.persist();
    }
  }

  async function goOn(tool: RegisteredTool, call: ToolCall, caller: Caller, taskId: string, onTask?: OnTask) {
    const wait = waits.begin(tool.hold.holdMs);
    if (call.inputResponses !== undefined) await commands.answer(caller.principal, taskId, call.inputResponses);
    return settled(wait, tool.hold, call, caller, taskId, onTask);
  }

  /** The answer to a call that has a task, which its client cannot see. */
  async function settled(
    wait: Wait,
    hold: Hold,
    call: ToolCall,
    caller: Caller,
    taskId: string,
    onTask?: OnTask,
  ): Promise<CallAnswer> {
    const task = await stateAfter(wait, commands, taskId, caller, onTask);
    if (task.outcome !== undefined) return plain(task.outcome);
    if (task.status === 'cancelled') throw new RpcError(-32603, 'the call was cancelled');
    const requests = openQuestions(task);
    const canAsk = Object.values(requests).every((request) => mayAsk(call.capabilities, request));
    if (isAsking(task) && (canAsk || !handsOff(hold))) {
      const requestState = states.seal(caller.principal, call, { kind: 'task', taskId });
      return { kind: 'input', requests, requestState, task, ...(handsOff(hold) && { otherwise: handedOff }) };
    }
    if (!handsOff(hold)) throw shuttingDown();
    return { kind: 'result', result: handedOff(task), task };
  }

  return {
    begin: (tool, call, caller, task, onTask) => keep(begin(tool, call, caller, task, onTask)),
    goOn: (tool, call, caller, taskId, onTask) => keep(goOn(tool, call, caller, taskId, onTask)),
    answered: () => Promise.allSettled(held),
  };
}

function isDraining(error: unknown): boolean {
  return error instanceof ErrandError && error.kind === 'draining';
}

/** How a call is answered whose work has ended. */
export function plain(outcome: TaskOutcome): CallAnswer {
  if (outcome.kind === 'result') return { kind: 'result', result: outcome.result };
  const { code, message, data } = outcome.error;
  throw new RpcError(code, message, data, code === -32021 ? 400 : 200);
}
