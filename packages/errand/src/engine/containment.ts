import { AsyncLocalStorage } from 'node:async_hooks';
import { inspect } from 'node:util';

/** Who pays for an error that nobody caught. */
export interface Contained {
  crash(error: unknown): unknown;
}

const current = new AsyncLocalStorage<Contained>();
let users = 0;

/** Runs a handler so that what it leaves uncaught, also in timers of its own, fails it alone. */
export function contain<T>(whoPays: Contained, fn: () => T): T {
  return current.run(whoPays, fn);
}

/** Runs an asynchronous function of a user, whose promise also rejects with what it leaves uncaught. */
export function contained<T>(fn: () => Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    contain({ crash: reject }, () => void fn().then(resolve, reject));
  });
}

/** A signal that follows another one; what its listeners leave uncaught falls to whoever is contained here. */
export function containedSignal(signal: AbortSignal): AbortSignal {
  if (signal.aborted) return signal;
  const controller = new AbortController();
  const follow = AsyncLocalStorage.bind(() => controller.abort(signal.reason));
  signal.addEventListener('abort', follow, { once: true });
  return controller.signal;
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
  const whoPays = current.getStore();
  if (whoPays !== undefined) whoPays.crash(reason);
  else if (process.listenerCount('unhandledRejection') === 1) throw reason;
}

function onException(error: unknown): void {
  const whoPays = current.getStore();
  if (whoPays !== undefined) {
    whoPays.crash(error);
  } else if (process.listenerCount('uncaughtException') === 1) {
    process.stderr.write(`Uncaught ${inspect(error)}\n`);
    process.exit(1);
  }
}
