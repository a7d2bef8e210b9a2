/** What must be true of every run, each in the words of the closing table. */
export const CHECKS = {
  tasks: 'an acknowledged task is there whenever it is read',
  answers: 'an acknowledged answer is kept, and its question never comes back',
  cancels: 'an acknowledged cancel holds',
  ends: 'a task that has ended keeps its end',
  journals: 'a journal has no gaps, grows only, and has one end for a begin',
  steps: 'a step whose end is on record never runs again',
  given: 'what an effect was given is what is on record',
  results: 'what a result was made of is what is on record',
  keys: 'a step keeps its key',
  once: 'an effect that must not take place twice does not',
  graphs: 'a task ends after all below it, each of which is made once, by one that knows it',
  creations: 'however often a call is made under one key, there is one task, with one answer',
  pauses: 'an acknowledged pause holds, and nothing of the task begins before it is resumed',
  messages: 'what a task was told it is told once',
  told: 'who asks whether it took place is told the truth',
  outcomes: 'a task ends as an unkilled one would',
  views: 'what a client sees never goes backwards',
  server: 'nothing else goes wrong',
} as const;

export type Check = keyof typeof CHECKS;

/** Counts what was looked at, and keeps what was wrong. */
export class Tally {
  readonly looked = new Map<Check, number>();
  readonly wrong: { readonly check: Check; readonly detail: string }[] = [];
  /** Ends that only a kill leads to, and those like unkilled ones. */
  readonly ends = new Map<string, number>();

  check(check: Check, holds: boolean, detail: () => string): void {
    this.looked.set(check, (this.looked.get(check) ?? 0) + 1);
    if (!holds) this.wrong.push({ check, detail: detail() });
  }

  count(end: string): void {
    this.ends.set(end, (this.ends.get(end) ?? 0) + 1);
  }

  add(other: Tally): void {
    for (const [check, count] of other.looked) this.looked.set(check, (this.looked.get(check) ?? 0) + count);
    for (const [end, count] of other.ends) this.ends.set(end, (this.ends.get(end) ?? 0) + count);
    this.wrong.push(...other.wrong);
  }
}
