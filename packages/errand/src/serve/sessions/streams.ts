import type { JsonRpcMessage } from '../../jsonrpc.ts';
import type { StreamEvent } from '../exchange.ts';

/** A way to a client. */
export interface Outlet {
  /**
   * `open`: what is sent gets there. `away`: it gets there if the client comes back for it. `done`: it ended in good
   * order, and what was sent got there. `lost`: whether it did is not known, and nothing more will.
   */
  readonly state: 'open' | 'away' | 'done' | 'lost';
  /** `topic`: a later message on it makes this one needless. Returns how to take it back: whether nobody had read it. */
  send(message: JsonRpcMessage, topic?: string): () => boolean;
}

/** The best of several ways: one that is open, else one that may be again; of those the last. */
export function bestOf(outlets: readonly (Outlet | undefined)[]): Outlet | undefined {
  return (
    outlets.findLast((outlet) => outlet?.state === 'open') ?? outlets.findLast((outlet) => outlet?.state === 'away')
  );
}

/** An event that is remembered, so that it can be read again. */
interface Kept {
  readonly number: number;
  readonly message: JsonRpcMessage;
  readonly topic: string | undefined;
}

/** So many events of a stream are remembered. One that is so far behind its reader is given up. */
const REMEMBERED = 256;

/**
 * One stream of events to a client. Who was cut off comes back with the id of the last event that arrived, and reads on
 * from there: each message is on one stream only (L-31).
 */
export class EventStream implements Outlet {
  readonly #name: () => string;
  readonly #onChange: () => void;
  #state: 'opening' | 'read' | 'left' | 'ended' | 'failed' = 'opening';
  #events: Kept[] = [];
  #last = 0;
  /** The number of the last event that was given to a reader. */
  #read = 0;
  #reader: Reader | undefined;
  #leftAt = 0;
  #wakeOpener = (): void => undefined;
  #token: string | undefined;

  /** `name` makes its token; `onChange` is called when the stream is lost, and when somebody reads it again. */
  constructor(name: () => string, onChange: () => void) {
    this.#name = name;
    this.#onChange = onChange;
  }

  /** What its client names it by. Made for who asks for it: most are not needed before their answer is there. */
  get token(): string {
    return (this.#token ??= this.#name());
  }

  get state(): Outlet['state'] {
    if (this.#state === 'opening' || this.#state === 'read') return 'open';
    if (this.#state === 'left') return 'away';
    return this.#state === 'ended' && this.isRead ? 'done' : 'lost';
  }

  /** Whether nobody has read it since a time (by `performance.now`), and nobody reads it. */
  isForgotten(since: number): boolean {
    return this.#reader === undefined && this.#state !== 'opening' && this.#leftAt < since;
  }

  get isOver(): boolean {
    return this.#state === 'ended' || this.#state === 'failed';
  }

  /** Whether its client knows of it. */
  get isTold(): boolean {
    return this.#state !== 'opening';
  }

  /** How many messages were sent on it. */
  get count(): number {
    return this.#last;
  }

  /** Whether there is nothing on it that a reader has not got. */
  get isRead(): boolean {
    return (this.#events.at(-1)?.number ?? 0) <= this.#read;
  }

  /** Resolves once there is something to read. */
  news(): Promise<void> {
    return this.#last > 0 ? Promise.resolve() : new Promise((resolve) => (this.#wakeOpener = resolve));
  }

  send(message: JsonRpcMessage, topic?: string): () => boolean {
    if (this.isOver) return () => false;
    if (topic !== undefined) this.#drop((event) => event.topic === topic);
    const event: Kept = { number: ++this.#last, message, topic };
    this.#events.push(event);
    if (this.#events.length > REMEMBERED) {
      const oldest = this.#events.shift()!;
      if (oldest.number > this.#read) this.#end('failed');
    }
    this.#wake();
    return () => this.#drop(({ number }) => number === event.number);
  }

  /** Ends it, with the message that was waited for, if it came to that. */
  end(message?: JsonRpcMessage): void {
    if (this.isOver) return;
    if (message !== undefined) this.send(message);
    this.#end(message === undefined ? 'failed' : 'ended');
  }

  /** Reads it after the event of a number, from its beginning without one. Who read it before reads no more. */
  read(after: number | undefined, signal: AbortSignal): AsyncIterable<StreamEvent> {
    this.#reader?.leave();
    const reader = new Reader(signal, () => this.#left(reader));
    this.#reader = reader;
    if (!this.isOver) this.#state = 'read';
    this.#onChange();
    return this.#follow(reader, after);
  }

  async *#follow(reader: Reader, after: number | undefined): AsyncGenerator<StreamEvent, void, undefined> {
    let at = after ?? 0;
    try {
      // Who is cut off before the first message can come back, too.
      if (after === undefined) yield { id: `${this.token}.0` };
      while (!reader.hasLeft) {
        const event = this.#events.find(({ number }) => number > at);
        if (event !== undefined) {
          at = event.number;
          this.#read = Math.max(this.#read, at);
          yield { id: `${this.token}.${at}`, message: event.message };
        } else if (this.isOver) break;
        else await reader.woken();
      }
    } finally {
      reader.leave();
    }
  }

  #left(reader: Reader): void {
    if (this.#reader !== reader) return;
    this.#reader = undefined;
    this.#leftAt = performance.now();
    if (!this.isOver) this.#state = 'left';
    this.#onChange();
  }

  #end(how: 'ended' | 'failed'): void {
    this.#state = how;
    this.#leftAt = performance.now();
    this.#wake();
    this.#onChange();
  }

  /** Drops events that nobody has read. Gives whether there were any. */
  #drop(isMeant: (event: Kept) => boolean): boolean {
    const before = this.#events.length;
    this.#events = this.#events.filter((event) => event.number <= this.#read || !isMeant(event));
    return this.#events.length < before;
  }

  #wake(): void {
    this.#wakeOpener();
    this.#reader?.wake();
  }
}

/** Somebody who reads a stream until they go away. */
class Reader {
  readonly #signal: AbortSignal;
  readonly #onLeave: () => void;
  #wake: (() => void) | undefined;
  hasLeft = false;

  constructor(signal: AbortSignal, onLeave: () => void) {
    this.#signal = signal;
    this.#onLeave = onLeave;
    if (signal.aborted) queueMicrotask(this.leave);
    else signal.addEventListener('abort', this.leave);
  }

  readonly leave = (): void => {
    if (this.hasLeft) return;
    this.hasLeft = true;
    this.#signal.removeEventListener('abort', this.leave);
    this.#onLeave();
    this.wake();
  };

  wake(): void {
    this.#wake?.();
  }

  woken(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }
}
