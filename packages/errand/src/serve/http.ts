import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import type { HeaderReader } from '../dialect.ts';
import { ERRORS, RpcError, shuttingDown, type ErrandError } from '../errors.ts';
import { isObject, type JsonObject } from '../json.ts';
import { errorResponse, readableId } from '../jsonrpc.ts';
import type { JsonRpcResponse } from '../jsonrpc.ts';
import { show } from '../options.ts';
import { ANONYMOUS } from '../task/principal.ts';
import type { Principal } from '../task/principal.ts';
import { createAuth, Unauthorized, type AuthOptions } from './auth/bearer.ts';
import type { Exchange, Inbound, Reply, SessionDoor } from './exchange.ts';
import { GRACE_MS, LAST_WORDS_MS } from './farewell.ts';
import { createHealth, type HealthOptions, type Readiness } from './health.ts';
import { readBody } from './http/body.ts';
import {
  checkCarrier,
  checkSender,
  isLoopback,
  loopbackGate,
  MAX_BODY_BYTES,
  namedGate,
  parseBody,
} from './http/gate.ts';
import type { RequestHead } from './http/gate.ts';
import { answerRefusals } from './http/refusals.ts';
import { eventsOf, KEEP_ALIVE, KEEP_ALIVE_MS, SSE_HEADERS } from './http/sse.ts';

export interface HttpOptions {
  /** Default 8080; 0 takes a free one. */
  readonly port?: number;
  /** The address to bind. Default `127.0.0.1`; any but a loopback one needs `auth` or `principal`. */
  readonly host?: string;
  /** The path of the endpoint. Default `/mcp`. */
  readonly path?: string;
  /** Larger bodies are refused with 413. Default 4 MiB. */
  readonly maxBodyBytes?: number;
  /** Hostnames, without port, that the Host header may name. On a loopback address those of loopback always pass; elsewhere the default is any. */
  readonly allowedHosts?: readonly string[];
  /** Origins (`https://app.example`) of web pages that may call. On a loopback address pages of loopback origins always may. */
  readonly allowedOrigins?: readonly string[];
  /** Authenticates callers by bearer tokens. Needed to bind any but a loopback address, unless `principal` is given. */
  readonly auth?: AuthOptions;
  /** Who sent a request, where something else than a bearer token says so. Throw an `RpcError` to refuse it. */
  readonly principal?: (request: IncomingMessage) => Principal | Promise<Principal>;
  /** Where probes ask whether the process lives, and whether requests should be sent to it. Default `/healthz`, `/readyz`. */
  readonly health?: HealthOptions | false;
  readonly log?: Logger;
}

export interface HttpServing {
  /** The endpoint, for instance `http://127.0.0.1:8080/mcp`. */
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, lets those under way end (10 s at most), and frees the port. */
  close(): Promise<void>;
}

type Caller = Pick<Inbound, 'principal' | 'scopes'>;

/** Longer than load balancers keep an idle connection, so that they and not we close it. */
const KEEP_CONNECTION_MS = 65_000;

/** Serves an exchange over Streamable HTTP. Resolves when it listens; rejects where the address cannot be bound, or must not. */
export async function serveHttp(
  exchange: Exchange,
  options: HttpOptions = {},
  readiness: () => Promise<Readiness> = async () => 'ready',
): Promise<HttpServing> {
  const { port = 8080, host = '127.0.0.1', path = '/mcp', maxBodyBytes = MAX_BODY_BYTES, principal, log } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new TypeError(
      `serve: port is ${show(port)}; it must be a whole number from 0 to 65535, where 0 takes a free one`,
    );
  if (options.auth && principal) throw new TypeError('auth and principal both say who the caller is: give one of them');
  const { allowedHosts, allowedOrigins } = options;
  if (!isLoopback(host) && !options.auth && !principal) {
    throw new TypeError(
      `host ${host} can be reached from other machines, which needs authentication: pass auth: { mode: 'required', issuer, resource }, or bind 127.0.0.1`,
    );
  }
  if (options.auth && options.auth.resource === undefined && ['0.0.0.0', '::', '[::]'].includes(host)) {
    throw new TypeError(
      `host ${host} stands for all addresses, none of which clients use: pass auth.resource, the URL by which they reach the endpoint`,
    );
  }
  let url = '';
  const auth = options.auth && createAuth(options.auth, () => url);
  const health = createHealth(options.health, path, async () => (closing ? 'draining' : readiness()));
  const gate = isLoopback(host)
    ? loopbackGate(maxBodyBytes, [host, ...(allowedHosts ?? [])], allowedOrigins)
    : namedGate(maxBodyBytes, allowedHosts, allowedOrigins);
  /** Connections without a request so far, which Node does not count among the idle ones. */
  const silent = new Set<Socket>();
  /** Requests without an answer so far. */
  const underWay = new Set<HttpInbound>();
  let closing: Promise<void> | undefined;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    silent.delete(request.socket);
    if (health(request, response)) return;
    let message: unknown;
    try {
      const head = headOf(request);
      checkSender(head, gate);
      if (!isAt(path, request.url)) {
        const metadata = auth?.metadataAt(request.url ?? '');
        if (metadata) return sendMetadata(response, metadata);
        return sendJson(response, 404, { error: `There is nothing here. The MCP endpoint is at ${path}` });
      }
      const visit = exchange.sessions && visitOf(request, exchange.sessions);
      if (!visit) checkCarrier(head, gate);
      if (closing) throw shuttingDown();
      const caller = await callerOf(request);
      if (visit) return await answer(new HttpInbound(undefined, caller, response), response, visit);
      message = parseBody(await readBody(request, gate));
      await answer(new HttpInbound(message, caller, response), response);
    } catch (thrown) {
      // The client has gone, and nobody waits for an answer.
      if (response.destroyed) return;
      const known = thrown instanceof RpcError;
      if (!known) log?.error({ err: thrown }, 'a request failed');
      else if (thrown.cause !== undefined) log?.warn({ err: thrown.cause }, thrown.message);
      if (response.headersSent) return void response.destroy();
      const error = known ? thrown : new RpcError(-32603, 'Internal error', undefined, 500);
      if (error.status === 405) response.setHeader('allow', 'POST');
      if (error instanceof Unauthorized) response.setHeader('www-authenticate', error.challenge);
      sendJson(response, error.status, errorResponse(readableId(message), error));
    }
  }

  async function callerOf(request: IncomingMessage): Promise<Caller> {
    if (auth) return auth.authenticate(authorizationOf(request));
    return { principal: principal ? await principal(request) : ANONYMOUS };
  }

  async function answer(
    inbound: HttpInbound,
    response: ServerResponse,
    act: (inbound: Inbound) => Promise<Reply> = exchange,
  ): Promise<void> {
    let reply: Reply;
    underWay.add(inbound);
    try {
      reply = await act(inbound);
    } finally {
      underWay.delete(inbound);
    }
    if (response.headersSent) return; // it came too late
    if (reply.kind === 'response') {
      if (reply.session !== undefined) response.setHeader('mcp-session-id', reply.session);
      const scopes = auth && scopesAskedFor(reply.body);
      if (!scopes) return sendJson(response, reply.status, reply.body);
      // Who has no token yet is answered with the status that makes clients look for one.
      const error = inbound.principal.kind === 'anonymous' ? undefined : 'insufficient_scope';
      response.setHeader('www-authenticate', auth.challenge(scopes, error));
      sendJson(response, error ? 403 : 401, reply.body);
    } else if (reply.kind === 'stream' || reply.kind === 'events') await sendStream(response, eventsOf(reply));
    else response.writeHead(202, { 'content-length': 0 }).end();
  }

  function sendJson(response: ServerResponse, status: number, body: object): void {
    // A body that nobody will read must not be mistaken for the next request, nor be waited for.
    if (closing || !response.req.complete) response.setHeader('connection', 'close');
    const text = JSON.stringify(body);
    response
      .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      .end(text);
  }

  const server = createServer(
    // The gate says what is wrong with a missing Host, where Node would refuse it without a word.
    { keepAliveTimeout: KEEP_CONNECTION_MS, requireHostHeader: false },
    (request, response) => void serve(request, response),
  );
  answerRefusals(server);
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  server.listen(port, address);
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;
  url = `http://${address.includes(':') ? `[${address}]` : address}:${bound}${path}`;

  async function shutDown(): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    for (const socket of silent) socket.destroy();
    // A connection that was kept alive becomes idle only when its answer is through.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    const timers = [
      setTimeout(() => underWay.forEach((inbound) => inbound.takeBack(shuttingDown())), GRACE_MS),
      setTimeout(() => underWay.forEach(sayFarewell), GRACE_MS + LAST_WORDS_MS),
      setTimeout(() => server.closeAllConnections(), GRACE_MS + 2 * LAST_WORDS_MS),
    ];
    await closed;
    clearInterval(sweep);
    timers.forEach(clearTimeout);
  }

  function sayFarewell({ message, response }: HttpInbound): void {
    const error = shuttingDown();
    sendJson(response, error.status, errorResponse(readableId(message), error));
  }

  return {
    url,
    port: bound,
    close: () => (closing ??= shutDown()),
  };
}

function headOf({ method, headers }: IncomingMessage): RequestHead {
  const { host, origin, 'content-type': contentType, 'content-length': contentLength } = headers;
  return { method, host, origin, contentType, contentLength };
}

/** What a request without a message does to a session; `undefined` where it names none. */
function visitOf({ method, headers }: IncomingMessage, { listen, end }: SessionDoor) {
  if (headers['mcp-session-id'] === undefined) return undefined;
  return method === 'GET' ? listen : method === 'DELETE' ? end : undefined;
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** All of them: Node keeps the first of several, which another server on the way need not have looked at. */
function authorizationOf(request: IncomingMessage): string | undefined {
  return request.headersDistinct['authorization']?.join(', ');
}

/** The scopes that a tool of an SDK server asks for, where it refused a call for want of them. */
function scopesAskedFor(body: JsonRpcResponse): readonly string[] | undefined {
  if (!('error' in body) || body.error.code !== ERRORS.insufficientScope.code) return undefined;
  const { data } = body.error;
  const scopes = isObject(data) ? data['scopes'] : undefined;
  return Array.isArray(scopes) ? scopes.map(String) : undefined;
}

function sendMetadata(response: ServerResponse, metadata: JsonObject): void {
  if (response.req.method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end();
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
}

function isAt(path: string, url = ''): boolean {
  return url === path || url.startsWith(`${path}?`);
}

/** One message over HTTP. Its signal is made only for who asks for it: most are answered before anybody would. */
class HttpInbound implements Inbound {
  readonly message: unknown;
  readonly principal: Principal;
  readonly scopes?: readonly string[];
  readonly header: HeaderReader;
  readonly response: ServerResponse;
  #gone: AbortController | undefined;

  constructor(message: unknown, { principal, scopes }: Caller, response: ServerResponse) {
    const request = response.req;
    this.message = message;
    this.principal = principal;
    if (scopes) this.scopes = scopes;
    this.header = (name) => headerOf(request, name);
    this.response = response;
  }

  get signal(): AbortSignal {
    if (!this.#gone) {
      this.#gone = new AbortController();
      if (this.response.destroyed) this.#leave();
      else this.response.once('close', () => this.#leave());
    }
    return this.#gone.signal;
  }

  /** Has it end with an error, where it heeds that. */
  takeBack(why: ErrandError): void {
    this.#gone?.abort(why);
  }

  #leave(): void {
    if (!this.response.writableFinished) this.#gone?.abort();
  }
}

/** Writes events as they come, and no faster than the client reads them. */
async function sendStream(response: ServerResponse, events: AsyncIterable<string>): Promise<void> {
  response.writeHead(200, SSE_HEADERS).flushHeaders();
  response.write(KEEP_ALIVE); // some proxies hold a response back until its body begins
  const beat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(KEEP_ALIVE);
  }, KEEP_ALIVE_MS);
  try {
    for await (const event of events) {
      if (response.destroyed) break;
      if (!response.write(event)) await drained(response);
    }
  } finally {
    clearInterval(beat);
  }
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
    if (response.destroyed) done();
  });
}
