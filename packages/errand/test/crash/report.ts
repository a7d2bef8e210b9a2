import { MOMENTS, type Moment } from './doom.ts';
import { CHECKS, Tally, type Check } from './tally.ts';
import type { TrialReport } from './trial.ts';

/** So many mistakes are shown in full. */
const SHOWN = 10;
const DETAIL = 2000;
const WIDTH = Math.max(...Object.values(CHECKS).map((text) => text.length));

/** Gathers what all runs came to, and prints it. */
export class Report {
  readonly tally = new Tally();
  readonly #kept: string[] = [];
  readonly #kills = new Map<string, Map<Moment, number>>();
  readonly #began = performance.now();
  #tasks = 0;
  #atPoints = 0;
  #atRandom = 0;
  #missed = 0;

  add({ tally, tasks, folder }: TrialReport): void {
    this.tally.add(tally);
    this.#tasks += tasks;
    if (folder !== undefined) this.#kept.push(folder);
  }

  /** A server died over a write, or the load ended before it came to that. */
  killedAt(what: string, moment: Moment, reached: boolean): void {
    if (!reached) {
      this.#missed++;
      return;
    }
    this.#atPoints++;
    const row = this.#kills.get(what) ?? new Map<Moment, number>();
    this.#kills.set(what, row.set(moment, (row.get(moment) ?? 0) + 1));
  }

  killedAtRandom(kills: number): void {
    this.#atRandom += kills;
  }

  /** Prints the tables and the summary. Returns the exit code. */
  close(seed: number): number {
    this.#printKills();
    this.#printChecks();
    this.#printEnds();
    const { wrong } = this.tally;
    for (const { check, detail } of wrong.slice(0, SHOWN))
      console.log(`\nWRONG: ${CHECKS[check]}\n  ${detail.slice(0, DETAIL)}`);
    if (wrong.length > SHOWN) console.log(`\nand ${wrong.length - SHOWN} more`);
    if (this.#kept.length > 0) console.log(`\nFiles of runs with mistakes: ${this.#kept.slice(0, SHOWN).join(' ')}`);
    const looked = [...this.tally.looked.values()].reduce((sum, count) => sum + count, 0);
    const seconds = Math.round((performance.now() - this.#began) / 1000);
    console.log(
      `\n${this.#atPoints} kills at commit points and ${this.#atRandom} at random moments (seed ${seed}), ${this.#tasks} calls, ${looked} checks, ${wrong.length} wrong, ${seconds} s`,
    );
    return wrong.length === 0 && this.#atPoints + this.#atRandom > 0 ? 0 : 1;
  }

  #printKills(): void {
    if (this.#kills.size === 0) return;
    console.log(`\n${'Killed over the write of'.padEnd(46)}${MOMENTS.map((moment) => moment.padStart(11)).join('')}`);
    for (const [what, row] of [...this.#kills].sort(([a], [b]) => a.localeCompare(b))) {
      console.log(what.padEnd(46) + MOMENTS.map((moment) => String(row.get(moment) ?? 0).padStart(11)).join(''));
    }
    if (this.#missed > 0) console.log(`${this.#missed} times the load ended before it came to its point`);
  }

  #printChecks(): void {
    console.log(`\n${'Check'.padEnd(WIDTH + 2)}${'looked at'.padStart(10)}${'wrong'.padStart(7)}`);
    for (const check of Object.keys(CHECKS) as Check[]) {
      const wrong = this.tally.wrong.filter((mistake) => mistake.check === check).length;
      console.log(
        `${wrong === 0 ? '✓' : '✗'} ${CHECKS[check].padEnd(WIDTH)}${String(this.tally.looked.get(check) ?? 0).padStart(10)}${String(wrong).padStart(7)}`,
      );
    }
  }

  #printEnds(): void {
    console.log('\nHow calls ended');
    for (const [end, count] of [...this.tally.ends].sort(([, a], [, b]) => b - a)) {
      console.log(`${String(count).padStart(7)}  ${end}`);
    }
  }
}
