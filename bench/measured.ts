import type { Round } from './load.ts';
import type { Subject } from './subject.ts';

/** A subject and what came of it. Others use the machine too, so its best shows what the subject can do. */
export interface Measured {
  readonly subject: Subject;
  readonly rounds: readonly Round[];
  /** The round with the most operations. */
  readonly best: Round;
  readonly median: Round;
  /** CPU an operation, in µs: the least of all rounds. */
  readonly leastCpu: number;
}

export function measured(subject: Subject, rounds: readonly Round[]): Measured {
  const bySpeed = rounds.toSorted((one, other) => other.perSecond - one.perSecond);
  return {
    subject,
    rounds,
    best: bySpeed[0]!,
    median: bySpeed[Math.floor(bySpeed.length / 2)]!,
    leastCpu: Math.min(...rounds.map(({ cpuMicros }) => cpuMicros)),
  };
}
