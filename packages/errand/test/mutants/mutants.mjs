import { LIFE_MUTANTS } from './life.mjs';
import { WIRE_MUTANTS } from './wire.mjs';

/*
 * Faults that the public conformance suite does not find. Each is put into a copy of the sources by itself, and the
 * tests that are named beside it must go red.
 *
 * `gap` is the number of the requirement of the tasks extension that the fault breaks, or SHOULD where it is one.
 * Gap 22 concerns clients, and has no fault here. A fault that two layers guard against is put into both. Every text
 * to find is there exactly once in its file, so that no fault outlives the code that it was meant for.
 */

export const MUTANTS = [...WIRE_MUTANTS, ...LIFE_MUTANTS].sort((a, b) => order(a) - order(b));

function order({ gap }) {
  return gap === 'SHOULD' ? 99 : gap;
}
