import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Carriage } from './carriage.ts';

/** One response as it came. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether it came to its end. */
  readonly whole: boolean;
}

/** Longer than any answer takes, also on a busy machine. */
const PATIENCE_MS = 20_000;
/** For how long a stream that stays open is listened to. */
const LISTEN_MS = 60;

/**
 * Sends bytes on a connection of its own, in pieces, and resolves with all responses that came. `finish` says that
 * there is nothing more to send: whoever waits for the rest of a body learns that none will come.
 */
export function exchange(
  port: number,
  bytes: Buffer,
  carriage: Pick<Carriage, 'pieces' | 'pause' | 'leaves'>,
  finish: boolean,
): Promise<{ responses: RawResponse[]; timedOut: boolean }> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setNoDelay(true);
    const chunks: Buffer[] = [];
    let timedOut = false;
    let listening: ReturnType<typeof setTimeout> | undefined;
    const patience = setTimeout(() => {
      timedOut = true;
      socket.destroy();
    }, PATIENCE_MS);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (chunks.length === 1 && chunk.includes('text/event-stream')) {
        listening = setTimeout(() => socket.destroy(), LISTEN_MS);
        return;
      }
      // On a connection that stays open nothing else would tell that the answer is through.
      const last = listening === undefined ? responsesIn(Buffer.concat(chunks)).at(-1) : undefined;
      if (last?.whole === true && last.headers['connection'] !== 'close') socket.end();
    });
    socket.on('end', () => socket.end());
    // The server may refuse a request without reading all of it, and close.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(patience);
      clearTimeout(listening);
      resolve({ responses: responsesIn(Buffer.concat(chunks)), timedOut });
    });
    void send();

    async function send(): Promise<void> {
      const end = carriage.leaves === undefined ? bytes.length : Math.floor((carriage.leaves / 1000) * bytes.length);
      const size = Math.max(1, Math.ceil(end / carriage.pieces));
      for (let at = 0; at < end && socket.writable; at += size) {
        if (at > 0 && carriage.pause > 0) await delay(carriage.pause);
        socket.write(bytes.subarray(at, Math.min(at + size, end)));
      }
      if (carriage.leaves !== undefined) socket.destroySoon();
      else if (finish) socket.end();
    }
  });
}

/** Cuts what a server sent into responses, without those that only say "go on". */
function responsesIn(bytes: Buffer): RawResponse[] {
  const responses: RawResponse[] = [];
  for (let at = 0; at < bytes.length;) {
    const split = bytes.indexOf('\r\n\r\n', at);
    if (split < 0) break;
    const [line = '', ...rest] = bytes.subarray(at, split).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      rest.map((each) => [each.slice(0, each.indexOf(':')).toLowerCase(), each.slice(each.indexOf(':') + 1).trim()]),
    );
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1] ?? NaN);
    const { body, end, whole } = bodyIn(bytes, split + 4, headers);
    at = end;
    if (status !== 100) responses.push({ status, headers, body: body.toString('utf8'), whole });
  }
  return responses;
}

function bodyIn(
  bytes: Buffer,
  start: number,
  headers: Record<string, string>,
): { body: Buffer; end: number; whole: boolean } {
  if (headers['transfer-encoding'] !== 'chunked') {
    const end = start + Number(headers['content-length'] ?? 0);
    return { body: bytes.subarray(start, end), end, whole: end <= bytes.length };
  }
  const parts: Buffer[] = [];
  for (let at = start; ;) {
    const split = bytes.indexOf('\r\n', at);
    if (split < 0) return { body: Buffer.concat(parts), end: bytes.length, whole: false };
    const size = parseInt(bytes.subarray(at, split).toString('latin1'), 16);
    if (size === 0) return { body: Buffer.concat(parts), end: split + 4, whole: true };
    parts.push(bytes.subarray(split + 2, split + 2 + size));
    at = split + 2 + size + 2;
  }
}
