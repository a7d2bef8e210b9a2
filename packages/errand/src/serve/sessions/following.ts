import type { ProgressReport, SessionDialect } from '../../dialect.ts';
import type { Engine, SeenTask } from '../../engine/engine.ts';
import type { Principal } from '../../task/principal.ts';
import { isTerminal } from '../../task/task.ts';
import { heldProgress, type HeldProgress } from '../held/progress.ts';
import type { TaskQuestions } from './questions.ts';
import type { Outlet } from './streams.ts';

export interface FollowingParts {
  readonly engine: Pick<Engine, 'read' | 'watch'>;
  readonly principal: Principal;
  readonly dialect: SessionDialect;
  /** The session that is told. */
  readonly session: string | undefined;
  readonly taskId: string;
  /** Puts its questions to the client; absent where that gets them by results. */
  readonly questions: TaskQuestions | undefined;
  /** Where messages about the task could go now. */
  readonly outlet: () => Outlet | undefined;
  /** Called when there is nothing more to hear of it. */
  readonly onEnd: () => void;
}

export interface FollowOptions {
  /** Whether the client is told at once how the task stands. */
  readonly tell?: boolean;
  /** The task as the client knows it: then it is told at once where that has changed since. */
  readonly told?: SeenTask;
}

/** Tells a client of one task for as long as it lives: what it asks, how far it is, and how it stands. */
export class Following {
  readonly #parts: FollowingParts;
  readonly #waiting = new Set<Waiting>();
  readonly #reading: Promise<void>;
  #unwatch: () => void;
  #latest: SeenTask | undefined;
  /** What the client was told last, or knows already. */
  #news: string | undefined;
  #progress: HeldProgress | undefined;
  #failure: Error | undefined;

  constructor(parts: FollowingParts, { tell = false, told }: FollowOptions) {
    this.#parts = parts;
    const { engine, principal, taskId, dialect } = parts;
    this.#news = told && dialect.news(told);
    // Watched before it is read, so that no change falls in between.
    this.#unwatch = engine.watch(taskId, (task) => this.#saw(task, true), dialect.knowsSubtasks);
    this.#reading = engine.read(principal, taskId, dialect.knowsSubtasks).then(
      (task) => this.#saw(task, tell || told !== undefined),
      (error: Error) => this.#fail(error),
    );
  }

  /** Resolves when its client was told how the task stands now. */
  async known(): Promise<void> {
    await this.#reading;
  }

  /** Resolves with the task once it has ended. */
  ended(): Promise<SeenTask> {
    return new Promise((resolve, reject) => {
      if (this.#failure) reject(this.#failure);
      else if (this.#latest && isTerminal(this.#latest)) resolve(this.#latest);
      else this.#waiting.add({ resolve, reject });
    });
  }

  /** Tells no more. */
  stop(): void {
    this.#unwatch();
    this.#parts.questions?.close();
  }

  #saw(task: SeenTask, tell: boolean): void {
    if (this.#latest && (isTerminal(this.#latest) || this.#latest.version > task.version)) return;
    this.#latest = task;
    this.#parts.questions?.follow(task);
    this.#tellProgress(task);
    this.#tellStatus(task, tell);
    if (!isTerminal(task)) return;
    this.stop();
    for (const { resolve } of this.#waiting) resolve(task);
    this.#parts.onEnd();
  }

  #tellStatus(task: SeenTask, tell: boolean): void {
    const { dialect, outlet } = this.#parts;
    const news = dialect.news(task);
    if (news === this.#news) return;
    this.#news = news;
    if (tell) outlet()?.send(dialect.status(task), `status ${task.id}`);
  }

  /** Under the token of the call that made the task, which is good until the task ends (L-39). */
  #tellProgress(task: SeenTask): void {
    const { dialect, session, outlet } = this.#parts;
    const { birth } = task;
    if (birth?.progressToken === undefined || birth.session !== session || isTerminal(task)) return;
    const frame = (token: string | number, report: ProgressReport) => dialect.progress(token, report, task);
    this.#progress ??= heldProgress(birth.progressToken, frame);
    this.#progress.hear(task);
    const way = outlet();
    const notification = way && this.#progress.next();
    if (notification !== undefined) way!.send(notification, `progress ${task.id}`);
  }

  /** Waits no longer. */
  giveUp(error: Error): void {
    this.#fail(error);
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.stop();
    for (const { reject } of this.#waiting) reject(error);
    this.#parts.onEnd();
  }
}

interface Waiting {
  resolve(task: SeenTask): void;
  reject(error: Error): void;
}
