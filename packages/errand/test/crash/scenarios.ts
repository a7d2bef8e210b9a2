import type { Cast, Scenario } from './scenario.ts';
import { CONTROL } from './scenarios/control.ts';
import { GRAPHS } from './scenarios/graphs.ts';
import { LIVES } from './scenarios/lives.ts';
import { STEPS } from './scenarios/steps.ts';
import { WAITS } from './scenarios/waits.ts';

/** All kinds of work. */
export const SCENARIOS: readonly Scenario[] = [...STEPS, ...WAITS, ...LIVES, ...GRAPHS, ...CONTROL];

const alone = (scenario: Scenario): Cast => ({ name: scenario.name, scenarios: [scenario] });
const named = (...names: string[]) => names.map((name) => SCENARIOS.find((scenario) => scenario.name === name)!);

/** What is killed at each of its writes: every kind of work alone, and some at once, so that they share commits. */
export const CASTS: readonly Cast[] = [
  ...[...STEPS, ...WAITS, ...LIVES].map(alone),
  ...[...GRAPHS, ...CONTROL].map((scenario): Cast => ({ ...alone(scenario), inTurn: true })),
  { name: 'together', scenarios: named('press', 'till', 'fork', 'slow', 'unanswered'), inTurn: true },
];
