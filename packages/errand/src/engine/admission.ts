import { ErrandError } from '../errors.ts';
import type { Executor } from '../executor.ts';
import type { Limits } from '../limits.ts';
import type { Store } from '../store.ts';
import { principalKey, type Principal } from '../task/principal.ts';

/** Lets calls in that may become tasks, as many as a principal and the server can take. */
export interface Admission {
  /** Rejects with `taskLimit` or `overloaded`. */
  admit(principal: Principal, tool: string): Promise<Admitted>;
}

/** A call that was let in. */
export interface Admitted {
  /** The executor has it, or the store has its task soon, under this id. */
  begun(taskId: string): void;
  /** It is answered, and has made a task or not. */
  answered(made: boolean): void;
}

/** The live tasks of a principal: as they were counted last, made since, and maybe made by calls under way. */
interface Account {
  counted: number;
  made: number;
  underWay: number;
}

/** The accounts of so many principals are kept; beyond, the oldest is forgotten and counted anew. */
const ACCOUNTS = 10_000;

export function createAdmission(store: Store, executor: Executor, { liveTasks, queuedRuns }: Limits): Admission {
  const accounts = new Map<string, Account>();
  /** What to do when the task of a call is on record. */
  const onRecord = new Map<string, () => void>();
  /** Calls that were let in, and neither run nor wait for a slot so far. */
  let passing = 0;

  store.subscribe(({ id }) => onRecord.get(id)?.());

  async function accountOf(key: string): Promise<Account> {
    let account = accounts.get(key);
    if (account === undefined) {
      account = { counted: await store.live(key), made: 0, underWay: 0 };
      account = accounts.get(key) ?? account; // another call may have been quicker
      accounts.set(key, account);
      if (accounts.size > ACCOUNTS) accounts.delete(accounts.keys().next().value!);
    }
    // Tasks end without a word to us, so an account that looks full is counted anew before anyone is refused.
    if (isFull(account)) {
      account.counted = await store.live(key);
      account.made = 0;
    }
    return account;
  }

  const isFull = ({ counted, made, underWay }: Account): boolean => counted + made + underWay >= liveTasks;

  function refuseWhereFull(tool: string): void {
    const queued = executor.queued + Math.max(0, passing - executor.free(tool));
    if (queued < queuedRuns) return;
    throw new ErrandError('overloaded', `${queued} runs wait for a slot; try again later`, {
      data: { retryAfterMs: 1000 },
    });
  }

  function letIn(account: Account | undefined): Admitted {
    let passes = true;
    let isCounted = account === undefined;
    let id: string | undefined;
    passing += 1;
    if (account !== undefined) account.underWay += 1;

    function pass(): void {
      if (passes) passing -= 1;
      passes = false;
    }

    /** From here on it counts as a task of the principal, or for nothing. */
    function count(made: boolean): void {
      if (isCounted) return;
      isCounted = true;
      account!.underWay -= 1;
      if (made) account!.made += 1;
    }

    function leave(): void {
      pass();
      if (id !== undefined) onRecord.delete(id);
    }

    return {
      begun(taskId) {
        id = taskId;
        if (executor.has(taskId)) pass();
        onRecord.set(taskId, () => {
          count(true);
          leave();
        });
      },
      answered(made) {
        count(made);
        // What was just made is heard of, and queued, in the next iteration of the event loop.
        if (made && passes) setImmediate(leave);
        else leave();
      },
    };
  }

  return {
    async admit(principal, tool) {
      if (liveTasks === Infinity) {
        refuseWhereFull(tool);
        return letIn(undefined);
      }
      const account = await accountOf(principalKey(principal));
      refuseWhereFull(tool);
      if (!isFull(account)) return letIn(account);
      throw new ErrandError('taskLimit', `${liveTasks} of your tasks have not ended; wait for some, or cancel them`, {
        data: { limit: liveTasks, retryAfterMs: 1000 },
      });
    },
  };
}
