import { toMs, type Duration } from '../duration.ts';

/** What a client gets that takes no tasks. */
export interface WithoutTasks {
  /**
   * `wait`: the call is held, for `holdFor` at most, and then handed off: it goes on as a task, which the model
   * behind the client follows by the tools `task_status`, `task_answer` and `task_cancel`. The default.
   * `handoff`: it is handed off at once.
   * `refuse`: it is refused with -32021.
   */
  readonly withoutTasks?: 'wait' | 'handoff' | 'refuse';
  /**
   * How long a call is held. Hosts give a call up after 60 s, most of them. Default 45 s; with `Infinity` it is held
   * until it ends, and never handed off.
   */
  readonly holdFor?: Duration;
}

/** The same, with what it leaves open filled in. */
export interface Hold {
  readonly withoutTasks: 'wait' | 'handoff' | 'refuse';
  /** In ms: 0 where calls are handed off at once, `Infinity` where they never are. */
  readonly holdMs: number;
}

export const DEFAULT_HOLD: Hold = { withoutTasks: 'wait', holdMs: 45_000 };

/** For a tool whose every call is answered with its result. */
export const NOT_HELD: Hold = { withoutTasks: 'wait', holdMs: Infinity };

const CHOICES = ['wait', 'handoff', 'refuse'];

/** Checks what was asked for; `otherwise` holds where nothing was. Throws a `TypeError` that begins with `what`. */
export function holdOf(what: string, { withoutTasks, holdFor }: WithoutTasks, otherwise: Hold): Hold {
  if (withoutTasks !== undefined && !CHOICES.includes(withoutTasks))
    throw new TypeError(`${what}: withoutTasks is "${String(withoutTasks)}"; it must be ${CHOICES.join(', ')}`);
  if (holdFor !== undefined && (withoutTasks ?? 'wait') !== 'wait')
    throw new TypeError(`${what}: holdFor contradicts withoutTasks: '${withoutTasks}', which holds no call`);
  // Whoever says for how long wants calls to be held.
  const choice = withoutTasks ?? (holdFor === undefined ? otherwise.withoutTasks : 'wait');
  switch (choice) {
    case 'handoff':
      return { withoutTasks: 'handoff', holdMs: 0 };
    case 'refuse':
      return { withoutTasks: 'refuse', holdMs: Infinity };
    case 'wait':
      return { withoutTasks: 'wait', holdMs: holdMsOf(what, holdFor, otherwise) };
  }
}

/** Whether a call may be answered with words that say where its result will be. */
export function handsOff({ holdMs }: Hold): boolean {
  return holdMs !== Infinity;
}

function holdMsOf(what: string, holdFor: Duration | undefined, otherwise: Hold): number {
  if (holdFor === Infinity) return Infinity;
  if (holdFor !== undefined) return toMs(holdFor, `${what}: holdFor`);
  return otherwise.withoutTasks === 'wait' ? otherwise.holdMs : DEFAULT_HOLD.holdMs;
}
