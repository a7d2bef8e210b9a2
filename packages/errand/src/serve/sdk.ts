import type {
  AuthInfo,
  JSONRPCMessage,
  McpServer,
  ScopeChallengeHandler,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/server';
import type { HeaderReader } from '../dialect.ts';
import { checkParamHeaders, paramHeadersOf } from '../dialects/2026-07-28/headers.ts';
import { ErrandError, toRpcError } from '../errors.ts';
import { isObject, type JsonObject } from '../json.ts';
import { errorResponse, isRequest } from '../jsonrpc.ts';
import type { Backend } from './backend.ts';
import type { Inbound, JsonRpcMessage, JsonRpcNotification, JsonRpcRequest, Reply } from './exchange.ts';
import type { SdkServer } from './sdk-server.ts';
import { adopt } from './sdk/adopt.ts';
import { extraOf } from './sdk/caller.ts';
import { Changes } from './sdk/changes.ts';
import { Link, isResponse } from './sdk/link.ts';

/** A backend that must be made ready; one that was not is made so by its first request. */
export interface SdkBackend extends Backend {
  /** Makes the SDK server and connects it. Rejects where it cannot be served, and says why. */
  start(): Promise<void>;
}

/**
 * One SDK server behind the front, for all clients and for as long as the process lives.
 *
 * Its handlers learn of their caller from their context (`ctx.mcpReq.envelope`, `ctx.http`); what
 * the server itself can be asked of "the" client (`getClientCapabilities`) says nothing here.
 */
export function sdkBackend(makeServer: () => SdkServer): SdkBackend {
  const changes = new Changes();
  let hosted: Hosted | undefined;
  // A server that its owner closed is made, or at least connected, anew.
  const host = () => (hosted ??= new Hosted(makeServer() as McpServer, changes, () => (hosted = undefined)));

  return {
    start: async () => void (await host().ready()),
    exchange: async (inbound) => {
      const message = inbound.message as JsonRpcRequest | JsonRpcNotification;
      try {
        return await host().exchange(message, inbound);
      } catch (thrown) {
        if (!isRequest(message)) return { kind: 'accepted' };
        const error = toRpcError(thrown);
        return { kind: 'response', status: error.status, body: errorResponse(message.id, error) };
      }
    },
    watch: (filter, listener) => changes.watch(filter, host().capabilities(), listener),
  };
}

/** The SDK leaves whoever has no token to the gate before it. Where tokens are optional, that gate is its own check of scopes. */
const NOBODY: AuthInfo = { token: '', clientId: '', scopes: [] };

/** An SDK server, and the transport by which it believes that it has one client. */
class Hosted implements Transport {
  onmessage?: Transport['onmessage'];
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];

  readonly #mcp: McpServer;
  readonly #changes: Changes;
  readonly #gone: () => void;
  readonly #link = new Link((message, extra) => this.onmessage?.(message as JSONRPCMessage, extra));
  #ready: Promise<(message: unknown) => boolean> | undefined;
  #challenge: ScopeChallengeHandler | undefined;

  constructor(mcp: McpServer, changes: Changes, gone: () => void) {
    this.#mcp = mcp;
    this.#changes = changes;
    this.#gone = gone;
  }

  /** Resolves with what tells whether a message is a request to the SDK, whose rules are stricter than those of the front. */
  ready(): Promise<(message: unknown) => boolean> {
    return (this.#ready ??= adopt(this.#mcp, this).catch((thrown: unknown) => {
      this.#gone();
      throw thrown;
    }));
  }

  capabilities(): ReturnType<McpServer['server']['getCapabilities']> {
    return this.#mcp.server.getCapabilities();
  }

  async exchange(message: JsonRpcRequest | JsonRpcNotification, inbound: Inbound): Promise<Reply> {
    const isRequestToSdk = await this.ready();
    const extra = extraOf(inbound);
    if (!isRequest(message)) {
      this.onmessage?.(message, extra);
      return { kind: 'accepted' };
    }
    if (!isRequestToSdk(message)) {
      throw new ErrandError('invalidRequest', 'Invalid request: it has members that MCP knows not, or of another kind');
    }
    if (inbound.header) await this.#preflight(message, inbound.header, extra.authInfo ?? (inbound.scopes && NOBODY));
    return this.#link.request(message, inbound.signal, extra);
  }

  /** What the SDK's own HTTP entry asks before it dispatches, so that whoever stands in for it must too. */
  async #preflight(request: JsonRpcRequest, header: HeaderReader, authInfo: AuthInfo | undefined): Promise<void> {
    const { name, arguments: args } = request.params ?? {};
    // Clients of older revisions repeat nothing in headers.
    const isRepeated = header('mcp-method') !== undefined;
    const called = isRepeated && request.method === 'tools/call' && typeof name === 'string';
    const schema = called ? this.#mcp.toolInputSchemaJson(name) : undefined;
    if (schema) checkParamHeaders(paramHeadersOf(schema as JsonObject), isObject(args) ? args : {}, header);
    const challenge = await this.#challenge?.({ request, ...(authInfo ? { authInfo } : {}) });
    if (challenge)
      throw new ErrandError('insufficientScope', 'Insufficient scope', { data: { scopes: [...challenge.scopes] } });
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const sent = message as JsonRpcMessage;
    if (this.#link.take(sent, options) || isResponse(sent) || 'id' in sent) return;
    this.#changes.announce(sent);
  }

  async close(): Promise<void> {
    this.#gone();
    this.#link.close();
    this.onclose?.();
  }

  setScopeChallengeResolver(resolve: ScopeChallengeHandler): void {
    this.#challenge = resolve;
  }
}
