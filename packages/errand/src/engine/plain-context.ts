import type { Logger } from 'pino';
import { containedSignal } from './containment.ts';
import type { Questions, TaskContext } from './context.ts';
import type { Caller } from './engine.ts';
import type { RegisteredTool } from './registry.ts';

/** What the handler of a tool without tasks is given: questions, but nothing that needs a journal. */
export function createPlainContext(tool: RegisteredTool, caller: Caller, ask: Questions, log: Logger): TaskContext {
  const refuse = (what: string) => (): never => {
    throw new TypeError(
      `${what}: tool "${tool.name}" has task: 'never', so it has no journal; use task: 'auto' or 'always'`,
    );
  };
  return {
    ...ask,
    get id(): never {
      return refuse('id')();
    },
    principal: caller.principal,
    scopes: caller.scopes,
    prepared: null,
    signal: containedSignal(caller.signal),
    log: log.child({ tool: tool.name }),
    step: refuse('step'),
    subtask: refuse('subtask'),
    progress: refuse('progress'),
    track: refuse('track'),
    steering: refuse('steering'),
    sleep: refuse('sleep'),
    now: refuse('now'),
    uuid: refuse('uuid'),
    status: refuse('status'),
  };
}
