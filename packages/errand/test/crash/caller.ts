import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../src/json.ts';
import type { Input } from '../../src/task/input.ts';
import type { Task } from '../../src/task/task.ts';
import { send } from './client.ts';
import type { Asked, Commitment } from './commitment.ts';
import { Control, type Pause } from './control.ts';
import type { Scenario } from './scenario.ts';
import type { Life, Remains, Site } from './site.ts';
import type { Check, Tally } from './tally.ts';
import { endOf, endOfTask, endWith, hasEnded, openKeys, setback } from './view.ts';

const POLL_EVERY = 20;

/** A client that makes one call and sees it through, however often the server dies. */
export class Caller {
  readonly scenario: Scenario;
  readonly #site: Site;
  readonly #tally: Tally;
  /** All that it was told is so. */
  readonly commitments: Commitment[] = [];
  readonly #acknowledged = new Set<string>();
  /** Questions that it thinks about. */
  readonly #thinking = new Set<string>();
  /** Questions that were open, and are not any more. */
  readonly #closed = new Set<string>();
  readonly #control: Control;
  /** The key of its call, where the scenario says so. */
  readonly key: string | undefined;
  /** What its call was answered with, if it was; and in which life it was last asked again. */
  #answer: JsonObject | undefined;
  #askedAgain = 0;
  readonly #ended: Promise<void>;
  #sayEnded!: () => void;
  #taskId: string | undefined;
  #view: JsonObject | undefined;
  #end: string | undefined;
  #cancelled = false;
  #result: JsonObject | undefined;

  constructor(scenario: Scenario, site: Site, tally: Tally) {
    this.scenario = scenario;
    this.#site = site;
    this.#tally = tally;
    this.key = scenario.keyed && randomUUID();
    this.#control = new Control({
      scenario,
      ask: (life, method, params) => this.#askIn(life, method, { taskId: this.#taskId!, ...params }),
      hold: (life, check, what, holds) => this.#hold(life, check, what, holds),
    });
    this.#ended = new Promise((resolve) => (this.#sayEnded = resolve));
  }

  /** While nothing of the task may begin, once it was told so. */
  get pause(): Pause | undefined {
    return this.#control.pause;
  }

  /** The task that the call was answered with. */
  get taskId(): string | undefined {
    return this.#taskId;
  }

  /** How it ended, once that was seen. */
  get end(): string | undefined {
    return this.#end;
  }

  /** What was last seen of the task. */
  get view(): JsonObject | undefined {
    return this.#view;
  }

  /** The tool result, where there is one. */
  get result(): JsonObject | undefined {
    return this.#result;
  }

  /** Resolves when the task has ended, or the call needed none. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Goes on until the site is closed: once the task has ended it is read again in every life. */
  async run(): Promise<void> {
    try {
      if (!(await this.#begin()) || (this.#taskId === undefined && this.key === undefined)) return;
      for (let life: Life | undefined; ;) {
        life = await this.#site.serving(this.#end === undefined ? undefined : life);
        if (life === undefined) return;
        if (this.key !== undefined && this.#askedAgain < life.number) await this.#beginAgain(life);
        if (this.#taskId !== undefined) await this.#look(life);
        if (this.#end === undefined) await pause(POLL_EVERY);
      }
    } catch (error) {
      this.#tally.check('server', false, () => `${this.scenario.name}: ${String(error)}`);
      this.#sayEnded();
    }
  }

  /** Calls the tool until that is answered. */
  async #begin(): Promise<boolean> {
    for (;;) {
      const asked = await this.#ask('tools/call', this.#call);
      if (asked === undefined) return false;
      if (asked.error !== undefined) throw new Error(`the call was answered with ${JSON.stringify(asked.error)}`);
      if (asked.result === undefined) continue;
      this.#answer = asked.result;
      if (asked.result['resultType'] === 'task') {
        this.#taskId = asked.result['taskId'] as string;
        const mayVanish = this.scenario.outlives === true;
        this.#hold(asked.life, 'tasks', 'the task', (task) => task !== undefined || mayVanish);
      } else this.#finish(endWith(asked.result), asked.result);
      return true;
    }
  }

  get #call(): JsonObject {
    const call = { name: this.scenario.name, arguments: { number: 1 } };
    return this.key === undefined ? call : { ...call, _meta: { 'dev.errand/idempotencyKey': this.key } };
  }

  /** Makes the call again under its key: the task is the same, or the answer is. */
  async #beginAgain(life: Life): Promise<void> {
    const { result, error } = await this.#askIn(life, 'tools/call', this.#call);
    if (result === undefined && error === undefined) return;
    this.#askedAgain = life.number;
    const before = this.#answer!;
    const isSame =
      before['resultType'] === 'task' ? result?.['taskId'] === before['taskId'] : isDeepStrictEqual(result, before);
    this.#tally.check('creations', isSame, () => this.#saying(`${show(before)}, then ${show(result ?? error)}`));
  }

  async #look(life: Life): Promise<void> {
    // What is acknowledged while the answer is on its way need not be in it.
    const acknowledged = [...this.#acknowledged];
    const { result: view, error } = await this.#askIn(life, 'tasks/get', { taskId: this.#taskId! });
    if (error !== undefined) return this.#vanished(error);
    if (view === undefined) return;
    this.#tally.check('tasks', true, () => '');
    const before = this.#view;
    this.#view = view;
    if (before !== undefined) {
      const why = setback(before, view);
      const check = hasEnded(before) ? 'ends' : 'views';
      this.#tally.check(check, why === undefined, () => this.#saying(`${why}: ${show(before)}, then ${show(view)}`));
      for (const key of openKeys(before)) if (!openKeys(view).includes(key)) this.#closed.add(key);
    }
    for (const key of acknowledged) {
      this.#tally.check('answers', !openKeys(view).includes(key), () => this.#saying(`"${key}" is asked again`));
    }
    const reopened = openKeys(view).find((key) => this.#closed.has(key));
    this.#tally.check('views', reopened === undefined, () =>
      this.#saying(`"${reopened}" was closed, and is open again`),
    );
    if (this.#cancelled) this.#tally.check('cancels', hasEnded(view), () => this.#saying(`it reads ${show(view)}`));
    if (!hasEnded(view)) return this.#act(life, view);
    const end = endOf(view);
    if (before === undefined || !hasEnded(before)) {
      this.#hold(life, 'ends', end, (task) =>
        task === undefined ? this.scenario.outlives === true : endOfTask(task) === end,
      );
    }
    if (!this.scenario.outlives) this.#finish(end, view['result'] as JsonObject | undefined);
  }

  /** Does what the scenario says, as far as this life lasts. */
  async #act(life: Life, view: JsonObject): Promise<void> {
    if (this.scenario.cancelsAt !== undefined && view['statusMessage'] === this.scenario.cancelsAt) {
      const { result, error } = await this.#askIn(life, 'tasks/cancel', { taskId: this.#taskId! });
      if (error !== undefined) throw new Error(`a cancel was answered with ${show(error)}`);
      if (result !== undefined) {
        this.#cancelled = true;
        this.#hold(life, 'cancels', 'the cancel', (task) => task?.status === 'cancelled');
      }
    }
    await this.#control.act(life, view);
    for (const key of openKeys(view)) {
      const thinks = this.scenario.answers?.[key];
      if (thinks === undefined || this.#thinking.has(key)) continue;
      this.#thinking.add(key);
      this.#answerAfter(life, key, thinks).catch((error: unknown) => {
        this.#tally.check('server', false, () => this.#saying(String(error)));
      });
    }
  }

  async #answerAfter(life: Life, key: string, ms: number): Promise<void> {
    await Promise.race([pause(ms), life.over]);
    if (!life.isOver) {
      // Another word each time: so it shows which one was kept.
      const response = { action: 'accept', content: { word: randomUUID().slice(0, 8) } };
      const inputResponses = { [key]: response };
      const { result, error } = await this.#askIn(life, 'tasks/update', { taskId: this.#taskId!, inputResponses });
      if (error !== undefined) throw new Error(`an answer was answered with ${show(error)}`);
      if (result !== undefined) {
        this.#acknowledged.add(key);
        this.#hold(life, 'answers', `the answer to "${key}"`, (task, tasks) =>
          isDeepStrictEqual(inputOf(task, tasks, key)?.response, response),
        );
      }
    }
    // Whoever still sees the question in the next life has to answer it again.
    if (life.isOver) this.#thinking.delete(key);
  }

  /** Nobody knows the task: fine once its time has come, and never before. */
  #vanished(error: JsonObject): void {
    const { createdAt, ttlMs } = this.#view ?? {};
    const due = this.#view === undefined || Date.now() >= Date.parse(createdAt as string) + (ttlMs as number);
    const fine = this.scenario.outlives === true && due;
    this.#tally.check('tasks', fine, () => this.#saying(`tasks/get was answered with ${show(error)}`));
    const seen = this.#view !== undefined && hasEnded(this.#view);
    this.#finish(seen ? endOf(this.#view!) : 'vanished', undefined);
  }

  #hold(life: Life, check: Check, what: string, holds: Commitment['holds']): void {
    this.commitments.push({ life: life.number, check, what, holds });
  }

  #finish(end: string, result: JsonObject | undefined): void {
    this.#end ??= end;
    this.#result ??= result;
    this.#sayEnded();
  }

  async #ask(method: string, params: JsonObject): Promise<Asked | undefined> {
    const life = await this.#site.serving();
    return life && this.#askIn(life, method, params);
  }

  /** Asks a life. Neither a result nor an error where it died over it. */
  async #askIn(life: Life, method: string, params: JsonObject): Promise<Asked> {
    try {
      return { life, ...(await send(life.url, method, params)) };
    } catch (error) {
      // The end of the process is seen a moment after the end of the connection.
      const died = await Promise.race([life.over.then(() => true), pause(5000).then(() => false)]);
      if (!died) throw error;
      return { life };
    }
  }

  #saying(text: string): string {
    return `${this.scenario.name} ${this.#taskId}: ${text}`;
  }
}

/** A question of a task, or of one below it by its path. */
function inputOf(root: Task | undefined, tasks: Remains['tasks'], key: string): Input | undefined {
  const path = key.split('/').slice(0, -1).join('/');
  const isMeant = ({ id, parent }: Task): boolean =>
    path === '' ? id === root?.id : parent?.root === root?.id && parent?.path === path;
  const asker = [...tasks.values()].find(({ task }) => isMeant(task));
  return asker?.task.inputs[key.slice(path === '' ? 0 : path.length + 1)];
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
