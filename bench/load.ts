import { connect, type Socket } from 'node:net';

export interface Load {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Round {
  readonly perSecond: number;
  /** In ms. */
  readonly p50: number;
  readonly p95: number;
  readonly requests: number;
}

export const CONNECTIONS = 8;

/**
 * Sends one request over and over on keep-alive connections, each waiting for its answer, for `ms`.
 * It writes to sockets itself: an HTTP client costs more than the servers that are compared, and
 * load generators count latency in whole milliseconds, where these servers need a fraction of one.
 */
export async function load(target: Load, ms: number): Promise<Round> {
  const request = frame(target);
  const latencies: number[] = [];
  const begun = performance.now();
  const end = begun + ms;
  const drive = async () => {
    const socket = connect(Number(target.url.port), target.url.hostname).setNoDelay();
    try {
      while (performance.now() < end) {
        const sent = performance.now();
        await exchange(socket, request);
        latencies.push(performance.now() - sent);
      }
    } finally {
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, drive));
  const seconds = (performance.now() - begun) / 1000;
  latencies.sort((a, b) => a - b);
  const quantile = (share: number) => latencies[Math.floor((latencies.length - 1) * share)] ?? Number.NaN;
  return { perSecond: latencies.length / seconds, p50: quantile(0.5), p95: quantile(0.95), requests: latencies.length };
}

function frame({ url, headers, body }: Load): Buffer {
  const all = { Host: url.host, ...headers, 'Content-Length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${url.pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

/** Sends a request and resolves with the body of its answer, which must be a 200 with a Content-Length. */
function exchange(socket: Socket, request: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const settle = (act: () => void) => {
      socket.off('data', onData).off('error', onEnd).off('close', onEnd);
      act();
    };
    const onEnd = (error?: unknown) => settle(() => reject(error instanceof Error ? error : new Error('closed')));
    const onData = (chunk: Buffer) => {
      received += chunk.toString('latin1');
      const head = received.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = /^HTTP\/1\.1 200 [^]*?\r\ncontent-length: (\d+)/i.exec(received)?.[1];
      if (length === undefined) return settle(() => reject(new Error(`unexpected answer: ${received}`)));
      if (received.length >= head + 4 + Number(length)) settle(() => resolve(received.slice(head + 4)));
    };
    socket.on('data', onData).on('error', onEnd).on('close', onEnd);
    socket.write(request);
  });
}

/** Sends one request on a connection of its own. Resolves with the JSON of the answer. */
export async function once(target: Load): Promise<unknown> {
  const socket = connect(Number(target.url.port), target.url.hostname);
  try {
    return JSON.parse(await exchange(socket, frame(target)));
  } finally {
    socket.destroy();
  }
}
