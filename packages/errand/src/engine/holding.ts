import type { Clock } from '../clock.ts';
import { RpcError } from '../errors.ts';
import type { Executor } from '../executor.ts';
import type { Task, TaskOutcome } from '../task/task.ts';
import { isAsking, openQuestions } from './below.ts';
import { mayAsk } from './capabilities.ts';
import type { TaskCommands } from './commands.ts';
import type { CallAnswer, Caller, OnTask, ToolCall } from './engine.ts';
import { handedOff } from './handoff/words.ts';
import { handsOff, type Hold } from './hold.ts';
import type { RequestStates } from './request-state.ts';
import { onAbort, stateWithin } from './waiting.ts';

export interface HoldingParts {
  readonly executor: Executor;
  readonly commands: TaskCommands;
  readonly states: RequestStates;
  readonly clock: Clock;
}

/** Answers calls of clients that take no tasks: each is held until it has ended, asks, or was held for too long. */
export interface Holding {
  /** Begins the work of a call, and holds the call. */
  begin(hold: Hold, call: ToolCall, caller: Caller, task: Task, onTask?: OnTask): Promise<CallAnswer>;
  /** Holds a call that was made again, with answers to the questions of its task. */
  goOn(hold: Hold, call: ToolCall, caller: Caller, taskId: string, onTask?: OnTask): Promise<CallAnswer>;
}

export function createHolding({ executor, commands, states, clock }: HoldingParts): Holding {
  return {
    async begin(hold, call, caller, task, onTask) {
      const until = clock.elapsed() + hold.holdMs;
      const attempt = executor.attempt(task, { sleepPersists: false });
      const stopTelling = onTask && attempt.watch(onTask);
      const stopAbort = onAbort(caller.signal, attempt.abandon);
      const stopHold =
        handsOff(hold) && !caller.signal.aborted ? atOnceOrAfter(hold.holdMs, attempt.persist) : undefined;
      const came = await attempt.outcome.finally(() => {
        stopTelling?.();
        stopAbort();
        stopHold?.();
      });
      if (came.kind === 'ended') return plain(came.outcome);
      const { id } = came.task;
      return settled(hold, call, caller, id, until, onTask).catch(async (error: unknown) => {
        // The client went away before it was given a way back: nobody will ever ask for this task.
        if (caller.signal.aborted) await commands.cancel(caller.principal, id);
        throw error;
      });
    },

    async goOn(hold, call, caller, taskId, onTask) {
      const until = clock.elapsed() + hold.holdMs;
      if (call.inputResponses !== undefined) await commands.answer(caller.principal, taskId, call.inputResponses);
      return settled(hold, call, caller, taskId, until, onTask);
    },
  };

  /** A call that is to be handed off at once is a task before its handler has begun, like any other. */
  function atOnceOrAfter(ms: number, action: () => void): () => void {
    if (ms > 0) return clock.after(ms, action);
    action();
    return () => undefined;
  }

  /** The answer to a call that has a task, which its client cannot see. */
  async function settled(
    hold: Hold,
    call: ToolCall,
    caller: Caller,
    taskId: string,
    until: number,
    onTask?: OnTask,
  ): Promise<CallAnswer> {
    const task = await stateWithin(commands, clock, taskId, until - clock.elapsed(), caller, onTask);
    if (task.outcome !== undefined) return plain(task.outcome);
    if (task.status === 'cancelled') throw new RpcError(-32603, 'the call was cancelled');
    const requests = openQuestions(task);
    const canAsk = Object.values(requests).every((request) => mayAsk(call.capabilities, request));
    if (isAsking(task) && (canAsk || !handsOff(hold))) {
      const requestState = states.seal(caller.principal, call, { kind: 'task', taskId });
      return { kind: 'input', requests, requestState };
    }
    return { kind: 'result', result: handedOff(task), task };
  }
}

/** How a call is answered whose work has ended. */
export function plain(outcome: TaskOutcome): CallAnswer {
  if (outcome.kind === 'result') return { kind: 'result', result: outcome.result };
  const { code, message, data } = outcome.error;
  throw new RpcError(code, message, data, code === -32021 ? 400 : 200);
}
