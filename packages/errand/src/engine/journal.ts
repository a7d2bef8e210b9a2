import { ErrandError } from '../errors.ts';
import type { JsonValue } from '../json.ts';
import type { Limits } from '../limits.ts';
import type { LoggedEvent } from '../task/event.ts';
import { counting, type BeginEntry, type CallKind, type CallOutcome, type EndEntry } from '../task/journal.ts';
import type { JournalEntry } from '../task/journal.ts';
import { beginEvent, endEvent } from './journal-events.ts';
import { JournalMismatch, StepError, toError } from './failures.ts';

/** Something that a handler began and that has not ended. */
export interface Call {
  readonly entry: BeginEntry;
  /** Whether the begin was in the journal when this run started. */
  readonly replayed: boolean;
  /** What the handler awaits. */
  readonly promise: Promise<JsonValue>;
}

/** What a journal needs from the run that it belongs to. */
export interface JournalHost {
  /** How much of the journal a task may fill. */
  readonly limits: Pick<Limits, 'stepsPerTask'>;
  /** Has the event log tell of something, with the next write. */
  note(event: LoggedEvent): void;
  /** Writes what `take` gives; resolves once it is on disk. Rejects where the run may no longer write. */
  flush(): Promise<unknown>;
  /** The handler was given all that was recorded; it goes on from here. */
  caughtUp(): void;
  /** Called before an end reaches the handler; a promise holds it back until the run may go on. */
  resume(): Promise<void> | undefined;
  /** Nothing is left to deliver: what happens next is up to the handler and to what is open. */
  quiet(): void;
  /** The handler asks for something else than the journal has. */
  mismatch(error: JournalMismatch): void;
}

interface OpenCall extends Call {
  /** Starts the effect, once the handler has seen all that was recorded. */
  start(call: Call): void;
  resolve(value: JsonValue): void;
  reject(error: Error): void;
}

/**
 * One sequence of begins and ends, and the pump that makes replay exact.
 *
 * The handler awaits promises of ours. Ends reach it one at a time, in the order of the journal,
 * each after every begin recorded before it, and the event loop is drained in between. So the
 * handler meets the same ends at the same points in every run, and `Promise.all`, `race` and
 * `any` over them come out as they did the first time.
 */
export class Journal {
  readonly #host: JournalHost;
  readonly #recorded: readonly BeginEntry[];
  readonly #ends: EndEntry[];
  readonly #open = new Map<number, OpenCall>();
  readonly #counts = new Map<string, number>();
  #begun = 0;
  #made = 0;
  #delivered = 0;
  #nextSeq: number;
  #ending = 0;
  #unwritten: JournalEntry[] = [];
  #valuesUnwritten = false;
  #live: boolean;
  #pumping = false;
  #frozen = false;
  #closed = false;

  constructor(entries: readonly JournalEntry[], host: JournalHost) {
    this.#host = host;
    const valid = counting(entries);
    this.#recorded = valid.filter((entry) => entry.type === 'begin');
    this.#ends = valid.filter((entry) => entry.type === 'end');
    this.#nextSeq = entries.length;
    this.#live = this.#ends.length === 0;
  }

  /** The calls that have not ended. */
  get calls(): Iterable<Call> {
    return this.#open.values();
  }

  /** Whether ends wait to reach the handler, or the handler owes begins for them. */
  get busy(): boolean {
    return this.#pumping || this.#delivered < this.#ends.length;
  }

  /** Whether the handler was given all that was recorded before this run. */
  get live(): boolean {
    return this.#live;
  }

  /** How many entries there are, on disk or on their way there. */
  get length(): number {
    return this.#nextSeq;
  }

  /** Whether an end is on its way to the disk. */
  get ending(): boolean {
    return this.#ending > 0;
  }

  /** Entries that are not on disk yet, for whoever writes them together with something else. */
  take(): JournalEntry[] {
    const entries = this.#unwritten;
    this.#unwritten = [];
    this.#valuesUnwritten = false;
    return entries;
  }

  /** The end that an error was delivered for, where it came from a call of the handler. */
  endOf(error: unknown): EndEntry | undefined {
    const end = error instanceof StepError ? FAILURES.get(error) : undefined;
    return end !== undefined && this.#ends.includes(end) ? end : undefined;
  }

  /** Has the run after this one take up the journal before the failure that this one ended with. */
  retry(end: EndEntry | undefined): void {
    const seq = this.#nextSeq++;
    this.#unwritten.push(end === undefined ? { seq, type: 'retry' } : { seq, type: 'retry', end: end.seq });
  }

  /**
   * Begins a call. `start` is called for one that has no recorded end, and must call `end` in
   * time. `value` is made only the first time; a replay gets what was recorded.
   */
  begin(kind: CallKind, name: string, start: (call: Call) => void, value?: () => JsonValue): Call {
    const { entry, replayed } = this.#match(kind, name, value);
    let resolve!: (value: JsonValue) => void;
    let reject!: (error: Error) => void;
    const promise = new Promise<JsonValue>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    // A branch that lost a race may fail with nobody listening; that must not end the process.
    promise.catch(() => undefined);
    const call: OpenCall = { entry, replayed, promise, start, resolve, reject };
    if (this.#takesNoMore) return call;
    this.#open.set(entry.seq, call);
    if (this.#live) start(call);
    this.#pump();
    return call;
  }

  /** Records something that is over as soon as it is begun, and gives what was recorded the first time. */
  value(kind: CallKind, name: string, make: () => JsonValue): JsonValue {
    const { entry, replayed } = this.#match(kind, name, make);
    if (!replayed) this.#valuesUnwritten = true;
    if (!this.#live) this.#pump();
    return entry.value!;
  }

  /**
   * Records how a call ended. It is on disk when the promise resolves, and reaches the handler
   * after that, in its turn.
   */
  async end(call: Call, outcome: CallOutcome): Promise<void> {
    if (this.#closed) return;
    const end: EndEntry = { seq: this.#nextSeq++, type: 'end', begin: call.entry.seq, outcome };
    this.#unwritten.push(end);
    const event = endEvent(call.entry, outcome);
    if (event !== undefined) this.#host.note(event);
    this.#ending++;
    await this.#host.flush();
    this.#ending--;
    this.#ends.push(end);
    this.#pump();
  }

  /** Whether an effect could use a value that a crash would forget. */
  get holdsUnwrittenValues(): boolean {
    return this.#valuesUnwritten;
  }

  /** The first recorded begin that the handler did not come to. */
  get unreached(): BeginEntry | undefined {
    return this.#recorded[this.#made];
  }

  /** A recorded begin that the next end waits for. */
  get owed(): BeginEntry | undefined {
    const next = this.#recorded[this.#made];
    const end = this.#ends[this.#delivered];
    return next !== undefined && end !== undefined && next.seq < end.seq ? next : undefined;
  }

  /** What to say when the handler did not come to the begin that it owes, within so many ms. */
  owedError(ms: number): JournalMismatch {
    const { seq } = this.owed!;
    return new JournalMismatch(`entry ${seq} is ${label(this.owed!)}, but the handler did not come to it in ${ms} ms`);
  }

  /** What to say when the handler ended without coming to a recorded begin. */
  unreachedError(entry: BeginEntry): JournalMismatch {
    return new JournalMismatch(`entry ${entry.seq} is ${label(entry)}, but the handler ended before it`);
  }

  /** Tells the handler nothing more, and takes none of its calls; how those end that were begun is recorded. */
  freeze(): void {
    this.#frozen = true;
  }

  /** Takes no more: the handler ended. Gives the entries that are not on disk yet. */
  finish(): JournalEntry[] {
    const entries = this.take();
    this.close();
    return entries;
  }

  /** Whether the journal takes no more. */
  get finished(): boolean {
    return this.#closed;
  }

  /** Lets go: nothing is delivered or recorded any more, and what the handler awaits never settles. */
  close(): void {
    this.#closed = true;
    this.#open.clear();
    this.#unwritten = [];
  }

  #match(kind: CallKind, name: string, value?: () => JsonValue): { entry: BeginEntry; replayed: boolean } {
    const { stepsPerTask } = this.#host.limits;
    if (++this.#begun > stepsPerTask) {
      throw new ErrandError('stepLimit', `a task begins ${stepsPerTask} steps, subtasks, questions and sleeps at most`);
    }
    const counted = `${kind} ${name}`;
    const ordinal = (this.#counts.get(counted) ?? 0) + 1;
    this.#counts.set(counted, ordinal);
    const expected = this.#takesNoMore ? undefined : this.#recorded[this.#made];
    if (expected === undefined) return { entry: this.#append(kind, name, ordinal, value), replayed: false };
    if (expected.kind !== kind || expected.name !== name || expected.ordinal !== ordinal) {
      const entry: BeginEntry = { seq: -1, type: 'begin', kind, name, ordinal, value: value?.() ?? null };
      this.#host.mismatch(
        new JournalMismatch(`entry ${expected.seq} is ${label(expected)}, but the handler begins ${label(entry)}`),
      );
      this.close();
      return { entry, replayed: true };
    }
    this.#made++;
    return { entry: expected, replayed: true };
  }

  #append(kind: CallKind, name: string, ordinal: number, value?: () => JsonValue): BeginEntry {
    const seq = this.#takesNoMore ? -1 : this.#nextSeq++;
    const begin: BeginEntry = { seq, type: 'begin', kind, name, ordinal };
    const entry = value === undefined ? begin : { ...begin, value: value() };
    if (this.#takesNoMore) return entry;
    this.#unwritten.push(entry);
    const event = beginEvent(entry);
    if (event !== undefined) this.#host.note(event);
    return entry;
  }

  get #takesNoMore(): boolean {
    return this.#frozen || this.#closed;
  }

  #pump(): void {
    if (this.#pumping || this.#takesNoMore) return;
    this.#pumping = true;
    setImmediate(this.#turn);
  }

  /** Delivers one end, then lets the event loop drain before the next. */
  readonly #turn = (): void => {
    if (this.#takesNoMore) return;
    const end = this.#ends[this.#delivered];
    if (end === undefined) return this.#drained();
    if (this.owed !== undefined) return this.#rest(); // begin() starts the pump again
    const held = this.#host.resume();
    if (held !== undefined) {
      void held.then(() => setImmediate(this.#turn));
      return;
    }
    this.#delivered++;
    this.#deliver(end);
    setImmediate(this.#turn);
  };

  #drained(): void {
    this.#pumping = false;
    if (!this.#live) {
      this.#live = true;
      this.#host.caughtUp();
      for (const call of [...this.#open.values()]) call.start(call);
    }
    if (!this.#closed) this.#host.quiet();
  }

  #rest(): void {
    this.#pumping = false;
    this.#host.quiet();
  }

  #deliver(end: EndEntry): void {
    const call = this.#open.get(end.begin);
    this.#open.delete(end.begin);
    if (call === undefined) return;
    if ('value' in end.outcome) return call.resolve(end.outcome.value);
    const error = toError(end.outcome.failure);
    FAILURES.set(error, end);
    call.reject(error);
  }
}

/** The ends that handlers were given errors for. */
const FAILURES = new WeakMap<StepError, EndEntry>();

/** How an entry is called where a person reads of it. */
export function label(entry: BeginEntry): string {
  return `${entry.kind} "${entry.name}"${entry.ordinal > 1 ? ` (number ${entry.ordinal})` : ''}`;
}
