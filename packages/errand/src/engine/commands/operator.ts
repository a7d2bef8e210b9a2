import { ErrandError } from '../../errors.ts';
import { jsonCopy } from '../../json.ts';
import type { Change, ListOptions, Store } from '../../store.ts';
import type { TaskEvent } from '../../task/event.ts';
import { principalKey, type Principal } from '../../task/principal.ts';
import type { Task } from '../../task/task.ts';
import { pausing, releasing, resuming, steering } from '../control.ts';
import { cancelling } from '../ending.ts';
import { followEvents, type EventOptions } from '../events.ts';
import type { Watch } from '../watching.ts';

/** Some tasks of a principal, latest first. */
export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Where the next page begins (`ListOptions.after`); absent on the last one. */
  readonly next?: string;
}

/** What whoever runs the server can do with any task of it, whoever it belongs to. An unknown id changes nothing. */
export interface Operator {
  /** A task as it is now; `undefined` where there is none of that id. */
  read(taskId: string): Promise<Task | undefined>;
  /** The tasks of a principal that no handler made, latest first. Default: all statuses, 100 tasks. */
  list(principal: Principal, options?: Partial<ListOptions>): Promise<TaskPage>;
  /**
   * What happened to a task, line by line: first what was, then what comes, until it has ended. Rejects where there
   * is no such task.
   *
   * ```ts
   * for await (const event of errand.events(taskId)) console.log(event.seq, event.kind);
   * ```
   */
  events(taskId: string, options?: EventOptions): AsyncIterable<TaskEvent>;
  /**
   * Lets nothing of a task run, nor of what is below it, until it is resumed. Its steps that run now end; it can be
   * answered, and its deadline goes on. Clients read `reason` (1,000 characters at most). Resolves with whether it
   * was live and not paused.
   */
  pause(taskId: string, reason?: string): Promise<boolean>;
  /** Lets a paused task and what is below it go on from where they are. Resolves with whether it was paused. */
  resume(taskId: string): Promise<boolean>;
  /**
   * Tells the handler of a task something on the way, which it reads from `task.steering()`: any JSON. Rejects with
   * `tooLarge` beyond 1,000 messages, or 256 KiB in all. Resolves with whether the task was live.
   */
  steer(taskId: string, message: unknown): Promise<boolean>;
  /** Ends a task and all below it as cancelled. Resolves with whether it was live. */
  cancel(taskId: string): Promise<boolean>;
  /** Tries a held task again. Resolves with whether a task of that id was held. */
  retry(taskId: string): Promise<boolean>;
}

/** How long the reason of a pause may be, in characters. */
const LONGEST_REASON = 1000;

/** So many tasks are on a page unless told otherwise. */
const PAGE = 100;

export interface OperatorParts {
  readonly store: Store;
  readonly watch: Watch;
  /** Resolves when the store can be used. */
  readonly ready: () => Promise<void>;
}

export function createOperator({ store, watch, ready }: OperatorParts): Operator {
  type Write = 'change' | 'changeTree';

  /** Resolves with whether the task itself was changed. */
  async function write(how: Write, taskId: string, decide: (task: Task) => Change | undefined): Promise<boolean> {
    await ready();
    let done = false;
    await store[how](taskId, (task) => {
      const change = decide(task);
      if (task.id === taskId) done = change !== undefined;
      return change;
    });
    return done;
  }

  return {
    async read(taskId) {
      await ready();
      return store.read(taskId);
    },

    async list(principal, { limit = PAGE, ...rest } = {}) {
      if (!Number.isInteger(limit) || limit < 1) throw new TypeError('list: limit is a whole number of 1 or more');
      await ready();
      // One more than is asked for tells whether there is another page.
      const tasks = await store.list(principalKey(principal), { ...rest, limit: limit + 1 });
      return tasks.length > limit ? { tasks: tasks.slice(0, limit), next: tasks[limit - 1]!.id } : { tasks };
    },

    async *events(taskId, options = {}) {
      await ready();
      yield* followEvents(store, watch, taskId, options);
    },

    async pause(taskId, reason) {
      if (reason !== undefined && reason.length > LONGEST_REASON) {
        throw new ErrandError('tooLarge', `the reason of a pause has ${LONGEST_REASON} characters at most`);
      }
      return write('changeTree', taskId, (task) => pausing(task, reason || undefined, store.now()));
    },

    resume: (taskId) => write('changeTree', taskId, (task) => resuming(task, store.now())),

    async steer(taskId, message) {
      const json = jsonCopy(message, 'what a task is told');
      return write('change', taskId, (task) => steering(task, json, store.now()));
    },

    cancel: (taskId) => write('changeTree', taskId, (task) => cancelling(task, store.now())),
    retry: (taskId) => write('change', taskId, (task) => releasing(task, store.now())),
  };
}
