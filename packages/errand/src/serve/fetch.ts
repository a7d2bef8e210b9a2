import { RpcError } from '../errors.ts';
import { errorResponse, readableId } from '../jsonrpc.ts';
import { ANONYMOUS } from '../task/principal.ts';
import type { Principal } from '../task/principal.ts';
import type { Exchange } from './exchange.ts';
import { checkCarrier, checkSender, loopbackGate, MAX_BODY_BYTES, parseBody, tooLarge } from './http/gate.ts';
import type { RequestHead } from './http/gate.ts';
import { eventsOf, KEEP_ALIVE, KEEP_ALIVE_MS, SSE_HEADERS } from './http/sse.ts';

/** What the host of a fetch face knows of a request. */
export interface FetchFacts {
  /**
   * Who asks. A host that says so answers for its callers: it has checked Host and Origin, or need
   * not. Otherwise the request is anonymous, and served only under a loopback name.
   */
  readonly principal?: Principal;
}

const GATE = loopbackGate(MAX_BODY_BYTES);

/** Answers web-standard requests through an exchange, for hosts that keep their own HTTP server. The path is the host's matter. */
export function fetchFace(exchange: Exchange): (request: Request, facts?: FetchFacts) => Promise<Response> {
  return async (request, { principal } = {}) => {
    let message: unknown;
    try {
      const head = headOf(request);
      if (!principal) checkSender(head, GATE);
      const visit = visitOf(request, exchange);
      if (!visit) {
        checkCarrier(head, GATE);
        message = parseBody(await readBody(request));
      }
      const gone = goneWith(request.signal);
      const inbound = {
        principal: principal ?? ANONYMOUS,
        header: (name: string) => request.headers.get(name) ?? undefined,
        signal: gone.signal,
      };
      const reply = await (visit ? visit(inbound) : exchange({ ...inbound, message }));
      if (reply.kind === 'response')
        return json(reply.status, reply.body, reply.session === undefined ? {} : { 'mcp-session-id': reply.session });
      if (reply.kind === 'stream' || reply.kind === 'events')
        return new Response(streamOf(eventsOf(reply), gone), { status: 200, headers: SSE_HEADERS });
      return new Response(null, { status: 202 });
    } catch (thrown) {
      const error = thrown instanceof RpcError ? thrown : new RpcError(-32603, 'Internal error', undefined, 500);
      return json(
        error.status,
        errorResponse(readableId(message), error),
        error.status === 405 ? { allow: 'POST' } : {},
      );
    }
  };
}

/** What a request without a message does to a session; `undefined` where it names none. */
function visitOf({ method, headers }: Request, { sessions }: Exchange) {
  if (!sessions || !headers.has('mcp-session-id')) return undefined;
  return method === 'GET' ? sessions.listen : method === 'DELETE' ? sessions.end : undefined;
}

function headOf({ method, headers, url }: Request): RequestHead {
  return {
    method,
    host: headers.get('host') ?? new URL(url).host,
    origin: headers.get('origin') ?? undefined,
    contentType: headers.get('content-type') ?? undefined,
    contentLength: headers.get('content-length') ?? undefined,
  };
}

/** Aborts with the request, and when nobody reads its answer any more. */
function goneWith(signal: AbortSignal): AbortController {
  const gone = new AbortController();
  if (signal.aborted) gone.abort();
  else signal.addEventListener('abort', () => gone.abort(), { once: true });
  return gone;
}

function json(status: number, body: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
}

async function readBody(request: Request): Promise<Buffer> {
  const body: ReadableStream<Uint8Array> | null = request.body;
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the rest of the body.
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > GATE.maxBodyBytes) throw tooLarge(GATE);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** Server-sent events, made one by one as they are read. */
function streamOf(events: AsyncIterable<string>, gone: AbortController): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = events[Symbol.asyncIterator]();
  let beat: ReturnType<typeof setInterval>;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(KEEP_ALIVE)); // some proxies hold a response back until its body begins
      beat = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(KEEP_ALIVE));
      }, KEEP_ALIVE_MS);
    },
    async pull(controller) {
      let over = true;
      try {
        const next = await iterator.next();
        if (next.done) return controller.close();
        over = false;
        controller.enqueue(encoder.encode(next.value));
      } finally {
        if (over) clearInterval(beat);
      }
    },
    cancel() {
      clearInterval(beat);
      gone.abort();
    },
  });
}
