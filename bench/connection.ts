import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** An answer of HTTP. */
export interface Answer {
  /** Status line and headers, as they came. */
  readonly head: string;
  readonly body: string;
}

let sent = 0;

/** How many requests all connections have sent so far. */
export function requestsSent(): number {
  return sent;
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
  readonly onText: ((soFar: string) => void) | undefined;
}

/**
 * A keep-alive connection that writes to its socket itself: an HTTP client costs more than the
 * servers that are compared, and the load has one core only. It reads what these servers send:
 * ASCII, with a Content-Length or in chunks, one answer at a time.
 */
export class Connection {
  readonly #socket: Socket;
  #received = '';
  #head: string | undefined;
  /** What is left to come of the body; `undefined` where it comes in chunks. */
  #length: number | undefined;
  #body = '';
  #waiting: Waiting | undefined;

  constructor(url: URL) {
    this.#socket = connect(Number(url.port), url.hostname).setNoDelay();
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  /** Sends a request and resolves with its answer. A stream tells what came of its body each time that more comes. */
  exchange(request: string | Buffer, onText?: (soFar: string) => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, onText };
      sent++;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }

  #read(chunk: Buffer): void {
    this.#received += chunk.toString('latin1');
    if (this.#head === undefined && !this.#readHead()) return;
    const before = this.#body.length;
    const done = this.#readBody();
    if (this.#body.length > before) this.#waiting?.onText?.(this.#body);
    if (!done) return;
    const answer = { head: this.#head!, body: this.#body };
    this.#head = undefined;
    this.#body = '';
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (/^HTTP\/1\.1 2/.test(answer.head)) waiting?.resolve(answer);
    else waiting?.reject(new Error(`unexpected answer: ${answer.head}\n\n${answer.body}`));
  }

  #readHead(): boolean {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return false;
    this.#head = this.#received.slice(0, end);
    this.#received = this.#received.slice(end + 4);
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1];
    this.#length = /\r\ntransfer-encoding: chunked/i.test(this.#head) ? undefined : Number(length ?? 0);
    return true;
  }

  /** Whether the body is there in whole. */
  #readBody(): boolean {
    if (this.#length !== undefined) {
      if (this.#received.length < this.#length) return false;
      this.#body = this.#received.slice(0, this.#length);
      this.#received = this.#received.slice(this.#length);
      return true;
    }
    for (;;) {
      const line = this.#received.indexOf('\r\n');
      if (line < 0) return false;
      const size = Number.parseInt(this.#received.slice(0, line), 16);
      const end = line + 2 + size + 2;
      if (this.#received.length < end) return false;
      this.#body += this.#received.slice(line + 2, line + 2 + size);
      this.#received = this.#received.slice(end);
      if (size === 0) return true;
    }
  }
}
