import { isUtf8 } from 'node:buffer';
import { ErrandError, RpcError } from '../../errors.ts';
import { parseMessage } from '../../jsonrpc.ts';

/** Bodies that are larger are refused. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** What a request says of itself before its body is read. */
export interface RequestHead {
  readonly method: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly contentType: string | undefined;
  readonly contentLength: string | undefined;
}

/** Who may ask, and how much. */
export interface Gate {
  /** Hostnames that the Host header may name; `undefined`: any. */
  readonly hosts: ReadonlySet<string> | undefined;
  /** Whether web pages of an origin may ask. */
  readonly allowsOrigin: (origin: string) => boolean;
  readonly maxBodyBytes: number;
}

const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Whether an address or name can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * A gate against web pages that make a browser call servers on its own machine (DNS rebinding):
 * on a loopback address only loopback names pass, and what is allowed beside them.
 */
export function loopbackGate(
  maxBodyBytes: number,
  hosts: readonly string[] = [],
  origins: readonly string[] = [],
): Gate {
  const allowed = new Set(origins);
  return {
    hosts: new Set([...LOOPBACK_NAMES, ...hosts.map((host) => host.toLowerCase())]),
    allowsOrigin: (origin) => allowed.has(origin) || (URL.canParse(origin) && isLoopback(new URL(origin).hostname)),
    maxBodyBytes,
  };
}

/** A gate for a server that knows its callers: names and origins are checked where they are said. */
export function namedGate(
  maxBodyBytes: number,
  hosts: readonly string[] | undefined,
  origins: readonly string[] = [],
): Gate {
  const allowed = new Set(origins);
  return {
    hosts: hosts && new Set(hosts.map((host) => host.toLowerCase())),
    allowsOrigin: (origin) => allowed.has(origin),
    maxBodyBytes,
  };
}

/** Throws -32600 under 403 where the request comes by a name, or from a web page, that is not allowed; under 400 where it names none. */
export function checkSender({ host, origin }: RequestHead, gate: Gate): void {
  if (host === undefined) throw new RpcError(-32600, 'Invalid request: the Host header is missing', undefined, 400);
  if (gate.hosts && !gate.hosts.has(hostnameOf(host)))
    throw new RpcError(-32600, 'The Host is not allowed here', undefined, 403);
  if (origin !== undefined && !gate.allowsOrigin(origin))
    throw new RpcError(-32600, 'The Origin is not allowed here', undefined, 403);
}

/** Throws under 405, 415 or 413 where the request cannot carry a message. */
export function checkCarrier({ method, contentType, contentLength }: RequestHead, gate: Gate): void {
  if (method !== 'POST') throw new RpcError(-32600, 'Method not allowed: messages are sent by POST', undefined, 405);
  if (contentType !== 'application/json' && mediaTypeOf(contentType ?? '') !== 'application/json') {
    throw new RpcError(-32600, 'Unsupported media type: messages are application/json', undefined, 415);
  }
  if (Number(contentLength) > gate.maxBodyBytes) throw tooLarge(gate);
}

export function tooLarge({ maxBodyBytes }: Gate): ErrandError {
  return new ErrandError('tooLarge', `The message is larger than ${maxBodyBytes} bytes`);
}

/** The message in a body. Throws -32700 where it is not JSON in UTF-8. */
export function parseBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ErrandError('parse', 'Parse error: not valid UTF-8');
  return parseMessage(bytes.toString('utf8'));
}

/** A Host header without its port. What cannot be a host comes out as nothing that is allowed. */
function hostnameOf(host: string): string {
  const end = host.startsWith('[') ? host.indexOf(']') + 1 : host.indexOf(':');
  const port = end > 0 ? host.slice(end) : '';
  if (port !== '' && !/^:\d*$/.test(port)) return '';
  return (end > 0 ? host.slice(0, end) : host).toLowerCase();
}

function mediaTypeOf(contentType: string): string {
  const end = contentType.indexOf(';');
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}
