import type { JsonValue } from '../../json.ts';
import type { Call } from '../journal.ts';
import type { Run } from '../run.ts';

/** What a task is told on the way, message by message, each at its place in the journal. */
export async function* steering(run: Run, mayBegin: () => void): AsyncGenerator<JsonValue, never> {
  for (;;) {
    mayBegin();
    yield await run.journal.begin('steering', 'steering', (call) => wait(run, call)).promise;
  }
}

function wait(run: Run, call: Call): void {
  run.persist('wait');
  const settle = (): void => {
    const message = run.task.steering?.[call.entry.ordinal - 1];
    if (message === undefined) return;
    unlisten();
    run.journal.end(call, { value: structuredClone(message) }).catch(run.abandon);
  };
  const unlisten = run.onTask(settle);
  settle();
}
