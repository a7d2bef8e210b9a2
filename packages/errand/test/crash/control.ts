import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../src/json.ts';
import { isTerminal } from '../../src/task/task.ts';
import type { Asked, Commitment } from './commitment.ts';
import type { Scenario } from './scenario.ts';
import type { Life } from './site.ts';

/** What a caller needs to control its task. */
export interface Controller {
  readonly scenario: Scenario;
  /** Asks for something to be done to the task. Neither a result nor an error where the server died over it. */
  ask(life: Life, method: string, params?: JsonObject): Promise<Asked>;
  hold(life: Life, check: Commitment['check'], what: string, holds: Commitment['holds']): void;
}

/** While nothing of a task may begin, in ms since the epoch. */
export interface Pause {
  readonly from: number;
  /** When it was asked to go on. */
  until?: number;
}

/** What a caller does to its task on the way: it pauses and resumes it, and tells it things. */
export class Control {
  readonly #caller: Controller;
  readonly #told = new Set<string>();
  #resumed = false;
  /** Once it was acknowledged. */
  pause: Pause | undefined;

  constructor(caller: Controller) {
    this.#caller = caller;
  }

  /** Does what the scenario says to a task that reads so. */
  async act(life: Life, { statusMessage }: JsonObject): Promise<void> {
    const { pauses, tells = {} } = this.#caller.scenario;
    if (typeof statusMessage !== 'string') return this.#goOn(life);
    if (pauses !== undefined && this.pause === undefined) {
      // Where the answer was lost, the task may be paused already.
      if (statusMessage === pauses.at || statusMessage === 'paused') await this.#pause(life);
    }
    await this.#goOn(life);
    const word = tells[statusMessage];
    if (word !== undefined && !this.#told.has(word)) await this.#tell(life, word);
  }

  async #pause(life: Life): Promise<void> {
    const { result } = await this.#caller.ask(life, 'errand/pause');
    if (result === undefined) return;
    const pause: Pause = { from: Date.now() };
    this.pause = pause;
    this.#caller.hold(life, 'pauses', 'the pause', (task) => {
      return pause.until !== undefined || (task !== undefined && (task.paused === true || isTerminal(task)));
    });
  }

  async #goOn(life: Life): Promise<void> {
    const { pause } = this;
    const { pauses } = this.#caller.scenario;
    if (pause === undefined || this.#resumed || Date.now() < pause.from + pauses!.lasts) return;
    pause.until ??= Date.now();
    const { result } = await this.#caller.ask(life, 'errand/resume');
    this.#resumed = result !== undefined;
  }

  async #tell(life: Life, word: string): Promise<void> {
    // Another text each time: so it shows which one was kept.
    const message = `${word} ${randomUUID().slice(0, 8)}`;
    const { result } = await this.#caller.ask(life, 'errand/steer', { message });
    if (result === undefined) return; // it died, or the task has ended since it read so
    this.#told.add(word);
    this.#caller.hold(life, 'messages', `"${message}"`, (task) => {
      return task?.steering?.filter((told) => told === message).length === 1;
    });
  }
}
