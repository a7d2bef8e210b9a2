import type { JsonValue } from '../../json.ts';
import type { CallOutcome } from '../../task/journal.ts';
import { ask, withdraw } from '../../task/transitions.ts';
import type { Call } from '../journal.ts';
import type { Question } from '../questions.ts';
import type { Run } from '../run.ts';
import { pastDeadline } from './sleep.ts';

/** Puts a question to the client, and resolves with the answer, however long that takes. */
export function askClient(run: Run, question: Question): Promise<JsonValue> {
  const { key, timeout, signal } = question;
  const start = (begun: Call): void => void wait(run, begun, question);
  const call = run.journal.begin('input', key, start, () => (timeout === undefined ? null : run.now() + timeout));
  if (signal?.aborted) takeBack(run, key);
  else if (signal !== undefined) onAbortBefore(call.promise, signal, () => takeBack(run, key));
  return call.promise;
}

/** Calls `action` when the signal aborts, unless the question is over by then. */
function onAbortBefore(over: Promise<unknown>, signal: AbortSignal, action: () => void): void {
  const unlisten = (): void => signal.removeEventListener('abort', action);
  signal.addEventListener('abort', action, { once: true });
  over.then(unlisten, unlisten);
}

async function wait(run: Run, call: Call, { key, request }: Question): Promise<void> {
  try {
    const until = call.entry.value as number | null;
    if (until !== null && until > run.task.deadlineAt) {
      return await run.journal.end(call, pastDeadline(run.task, `waiting for the answer to "${key}"`));
    }
    run.persist('wait');
    const settle = (): void => {
      const outcome = outcomeOf(run, key, until);
      if (outcome === undefined) return;
      unlisten();
      stopTimer();
      run.journal.end(call, outcome).catch(run.abandon);
    };
    const unlisten = run.onTask(settle);
    const stopTimer = until === null ? () => undefined : run.at(until, () => expire(run, key));
    if (Object.hasOwn(run.task.inputs, key)) settle();
    else await run.write((task, now) => ask(task, key, request, now));
  } catch (error) {
    run.abandon(error);
  }
}

/** How a question ended, by the task's own record; `undefined` while it is open. */
function outcomeOf(run: Run, key: string, until: number | null): CallOutcome | undefined {
  const input = Object.hasOwn(run.task.inputs, key) ? run.task.inputs[key]! : undefined;
  if (input === undefined || input.state === 'open') return undefined;
  if (input.state === 'answered') return { value: structuredClone(input.response!) };
  return until !== null && run.now() >= until
    ? { failure: { name: 'InputTimeout', message: `nobody answered the question "${key}" in time` } }
    : { failure: { name: 'InputWithdrawn', message: `the question "${key}" was withdrawn` } };
}

function expire(run: Run, key: string): void {
  run.write((task, now) => withdraw(task, key, now)).catch(run.abandon);
}

/**
 * Withdraws a question because the handler no longer wants it. This is an act of the handler, so
 * it has its own place in the journal; an answer that was committed before still wins.
 */
function takeBack(run: Run, key: string): void {
  const act = async (call: Call): Promise<void> => {
    try {
      await run.write((task, now) => withdraw(task, key, now));
      await run.journal.end(call, { value: null });
    } catch (error) {
      run.abandon(error);
    }
  };
  run.journal.begin('withdraw', key, (call) => void act(call));
}
