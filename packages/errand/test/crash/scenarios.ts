import type { Scenario } from './scenario.ts';
import { LIVES } from './scenarios/lives.ts';
import { STEPS } from './scenarios/steps.ts';
import { WAITS } from './scenarios/waits.ts';

/** All kinds of work. */
export const SCENARIOS: readonly Scenario[] = [...STEPS, ...WAITS, ...LIVES];

const named = (...names: string[]) => names.map((name) => SCENARIOS.find((scenario) => scenario.name === name)!);

/** What is killed at each of its writes: every kind of work alone, and some at once, so that they share commits. */
export const CASTS: readonly { readonly name: string; readonly scenarios: readonly Scenario[] }[] = [
  ...SCENARIOS.map((scenario) => ({ name: scenario.name, scenarios: [scenario] })),
  { name: 'together', scenarios: named('press', 'till', 'fork', 'slow', 'unanswered') },
];
