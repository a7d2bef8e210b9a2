import type { HeaderReader } from '../../dialect.ts';
import { ErrandError } from '../../errors.ts';
import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { JsonRpcRequest } from '../../jsonrpc.ts';
import { isLogLevel } from '../client-capabilities.ts';

/** The revision that this folder speaks. */
export const VERSION = '2026-07-28';

/** The extension that tasks are. */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** Our own extension: control, graphs, logs and lists of tasks. */
export const ERRAND = 'dev.errand/tasks';

/** The keys of `_meta` that the revision gives a meaning, and ours. */
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const;

/** What each request says of its sender. It holds for that request alone. */
export interface Envelope {
  readonly version: string;
  readonly capabilities: JsonObject;
  /** `_meta` as a whole. */
  readonly meta: JsonObject;
}

/** Reads `params._meta`. Throws -32602 under HTTP 400, or -32022 where the sender speaks another revision. */
export function readEnvelope(request: JsonRpcRequest, header?: HeaderReader): Envelope {
  const meta = request.params?._meta;
  const version = isObject(meta) ? meta[META.protocolVersion] : undefined;
  if (!isObject(meta) || version === undefined) throw unclaimed(header?.('mcp-protocol-version'));
  if (typeof version !== 'string') throw malformed(META.protocolVersion, 'must be a string');
  const capabilities = meta[META.clientCapabilities];
  if (!isObject(capabilities)) throw malformed(META.clientCapabilities, 'must be an object');
  const client = meta[META.clientInfo];
  if (
    client !== undefined &&
    !(isObject(client) && typeof client.name === 'string' && typeof client.version === 'string')
  ) {
    throw malformed(META.clientInfo, 'must be an object with a name and a version');
  }
  const level = meta[META.logLevel];
  if (level !== undefined && !isLogLevel(level)) throw malformed(META.logLevel, 'is no log level');
  const token = meta.progressToken;
  if (token !== undefined && typeof token !== 'string' && !Number.isSafeInteger(token)) {
    throw malformed('progressToken', 'must be a string or an integer');
  }
  return { version, capabilities, meta };
}

/** The request does not name its revision: its client speaks another one, or forgot to (N-4). */
function unclaimed(header: string | undefined): ErrandError {
  if (header !== undefined && header !== VERSION) return unsupported(header);
  return malformed(META.protocolVersion, 'is required');
}

function malformed(key: string, problem: string): ErrandError {
  return new ErrandError('invalidEnvelope', `Invalid params: _meta["${key}"] ${problem}`);
}

/** -32022: the client should try again with a revision that is `supported`. */
export function unsupported(requested: JsonValue | undefined): ErrandError {
  const named = typeof requested === 'string' ? requested : 'unknown';
  return new ErrandError('unsupportedVersion', 'Unsupported protocol version', {
    data: { supported: [VERSION], requested: named },
  });
}

/** Whether the sender takes tasks (E-2). The `tasks` capability of older revisions does not count. */
export function takesTasks({ capabilities }: Envelope): boolean {
  return isObject(capabilities.extensions) && isObject(capabilities.extensions[TASKS]);
}

/** Whether the sender knows our own extension. */
export function knowsErrand({ capabilities }: Envelope): boolean {
  return isObject(capabilities.extensions) && isObject(capabilities.extensions[ERRAND]);
}
