import { createHash } from 'node:crypto';

/** What is outside of the errand, and outlives each life of it: time, effects, and what handlers have decided. */
export interface World {
  /** How long something takes, in ms. */
  lasts(path: string): number;
  /** An effect: a text that is another one each time it takes place. Throws where it fails. */
  effect(path: string, fails: boolean): string;
  /** What later runs of a handler did not decide as an earlier one had. */
  readonly diverged: string[];
}

/** A world in which nothing takes as long as anything else: what is first is no matter of chance. */
export const orderly = (): World => worldOf((number) => 1 + (number >>> 4));

/** A world in which all things come at about the same time. */
export const crowded = (): World => worldOf((number) => number % 4);

function worldOf(lasts: (number: number) => number): World {
  let effects = 0;
  return {
    lasts: (path) => lasts(createHash('sha256').update(path).digest().readUInt32BE()),
    effect(path, fails) {
      effects++;
      if (fails) throw new Error(`${path} failed #${effects}`);
      return `${path} #${effects}`;
    },
    diverged: [],
  };
}

/** What a task came to, but for which of the effects it was. */
export function withoutNumbers(text: string): string {
  return text.replaceAll(/ #\d+/g, '');
}
