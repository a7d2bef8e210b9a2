import { setTimeout as pause } from 'node:timers/promises';
import { Caller } from './caller.ts';
import { checkEvidence } from './checks.ts';
import type { Line } from './ledger.ts';
import type { Scenario } from './scenario.ts';
import { Site, type Remains } from './site.ts';
import { Tally } from './tally.ts';

/** How long tasks may take to end once nobody is killed any more, in ms. */
const PATIENCE = 30_000;
/** Failed attempts and handlers that throw are logged so: the load has both. */
const WARNING = 40;

/** How one run of the load came out. */
export interface TrialReport {
  readonly tally: Tally;
  readonly ledger: readonly Line[];
  readonly tasks: number;
  /** Where its files are, where something was wrong. */
  readonly folder?: string;
}

/** One run of the load on one file: calls, and the lives of the server that serves them. */
export class Trial {
  readonly site: Site;
  readonly #tally = new Tally();
  readonly #callers: Caller[] = [];
  readonly #runs: Promise<void>[] = [];
  readonly #remains: Remains[] = [];

  constructor(program: string, options: { readonly watched: boolean }) {
    this.site = new Site(program, options);
  }

  /** Makes a call, some ms from now. */
  call(scenario: Scenario, after = 0): void {
    const caller = new Caller(scenario, this.site, this.#tally);
    this.#callers.push(caller);
    this.#runs.push(pause(after).then(() => caller.run()));
  }

  /** Resolves when all calls came to an end, or it took too long. */
  async ended(): Promise<void> {
    const late = new AbortController();
    const all = Promise.all(this.#callers.map(({ ended }) => ended));
    await Promise.race([all, pause(PATIENCE, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
  }

  /** Looks at the file of a server that is dead. */
  async bury(): Promise<void> {
    this.#remains.push(await this.site.remains());
  }

  /** Ends the last life, and checks all that is known. */
  async close(wasKilled: boolean): Promise<TrialReport> {
    const { site } = this;
    await site.close();
    await Promise.all(this.#runs);
    await this.bury();
    const tally = this.#tally;
    const ledger = site.ledger();
    checkEvidence({ callers: this.#callers, remains: this.#remains, ledger, wasKilled }, tally);
    const complaint = site.log.split('\n').find(isComplaint);
    tally.check('server', complaint === undefined, () => complaint!);
    const report = { tally, ledger, tasks: this.#callers.length };
    if (tally.wrong.length > 0) return { ...report, folder: site.folder };
    site.remove();
    return report;
  }
}

/** Whether a line that a server said is more than a warning. */
function isComplaint(line: string): boolean {
  if (!line.startsWith('{"level":')) return line !== '';
  return (JSON.parse(line) as { level: number }).level > WARNING;
}
