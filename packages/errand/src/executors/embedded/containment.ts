import { AsyncLocalStorage } from 'node:async_hooks';
import { inspect } from 'node:util';

/** Who pays for an error that nobody caught. */
export interface Contained {
  crash(error: unknown): unknown;
}

const current = new AsyncLocalStorage<Contained>();
let users = 0;

/** Runs a handler so that what it leaves uncaught, also in timers of its own, fails it alone. */
export function contain<T>(contained: Contained, fn: () => T): T {
  return current.run(contained, fn);
}

/**
 * Keeps errors of contained handlers from ending the process. All others do what they would have
 * done without us. Returns how to stop; counted, so that several servers share a process.
 */
export function installContainment(): () => void {
  if (users++ === 0) {
    process.on('unhandledRejection', onRejection);
    process.on('uncaughtException', onException);
  }
  let installed = true;
  return () => {
    if (!installed) return;
    installed = false;
    if (--users > 0) return;
    process.off('unhandledRejection', onRejection);
    process.off('uncaughtException', onException);
  };
}

function onRejection(reason: unknown): void {
  const contained = current.getStore();
  if (contained !== undefined) contained.crash(reason);
  else if (process.listenerCount('unhandledRejection') === 1) throw reason;
}

function onException(error: unknown): void {
  const contained = current.getStore();
  if (contained !== undefined) {
    contained.crash(error);
  } else if (process.listenerCount('uncaughtException') === 1) {
    process.stderr.write(`Uncaught ${inspect(error)}\n`);
    process.exit(1);
  }
}
