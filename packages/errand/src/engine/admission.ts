import { ErrandError } from '../errors.ts';
import type { Executor } from '../executor.ts';
import type { Limits } from '../limits.ts';
import type { Store } from '../store.ts';
import { principalKey, type Principal } from '../task/principal.ts';

/** Lets calls in that may become tasks, as many as a principal and the server can take. */
export interface Admission {
  /**
   * Rejects with `taskLimit` or `overloaded`. Resolves with what to call once the call is answered,
   * and with whether a task was made.
   */
  admit(principal: Principal): Promise<(made: boolean) => void>;
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

  return {
    async admit(principal) {
      if (executor.queued >= queuedRuns) {
        throw new ErrandError('overloaded', `${executor.queued} runs wait for a slot; try again later`, {
          data: { retryAfterMs: 1000 },
        });
      }
      if (liveTasks === Infinity) return () => undefined;
      const account = await accountOf(principalKey(principal));
      if (isFull(account)) {
        throw new ErrandError('taskLimit', `${liveTasks} of your tasks have not ended; wait for some, or cancel them`, {
          data: { limit: liveTasks, retryAfterMs: 1000 },
        });
      }
      account.underWay += 1;
      return (made) => {
        account.underWay -= 1;
        if (made) account.made += 1;
      };
    },
  };
}
