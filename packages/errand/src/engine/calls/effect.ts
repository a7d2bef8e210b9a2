import { AsyncLocalStorage } from 'node:async_hooks';
import type { Journal } from '../journal.ts';

/** A step whose effect runs. */
interface Effect {
  readonly journal: Journal;
  readonly step: string;
}

const current = new AsyncLocalStorage<Effect>();

/** Runs the effect of a step. */
export function runEffect<T>(effect: Effect, fn: () => T): T {
  return current.run(effect, fn);
}

/** Whether work that is under way is an attempt of a step. */
export function isEffect(work: object): boolean {
  return 'journal' in work && 'step' in work;
}

/** The attempt of a step that this runs in; an object of its own for each. */
export function currentEffect(): object | undefined {
  return current.getStore();
}

/**
 * Refuses a call of a task that is made within the effect of one of its steps. A replay does not
 * run the effect again, so it would never come to that call, and wait for it in vain.
 */
export function refuseWithinEffect(journal: Journal, what: string): void {
  const effect = current.getStore();
  if (effect?.journal !== journal) return;
  throw new TypeError(
    `${what} is called within step "${effect.step}"; a replay skips what is within a step, so call it before or after`,
  );
}
