import type { SessionDialect, Terms } from '../../dialect.ts';
import { META, VERSION } from '../../dialects/2026-07-28/envelope.ts';
import { RpcError } from '../../errors.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import type { JsonRpcMessage, JsonRpcRequest, JsonRpcResponse } from '../../jsonrpc.ts';
import type { InputRequest } from '../../task/input.ts';
import type { Backend } from '../backend.ts';
import type { Inbound } from '../exchange.ts';
import { askAll } from './calls.ts';
import type { Channel } from './channel.ts';
import type { Live } from './live.ts';

/** What a client hears of that never said from which level on. */
const DEFAULT_LOG_LEVEL = 'info';

/**
 * Has the backend, which is of revision 2026-07-28, answer a request of a session: what that says of its sender once,
 * the backend is told with each request, and what it asks by results the client is asked by requests. Throws the error
 * that it answers with.
 */
export async function passOn(
  { exchange }: Backend,
  live: Live,
  request: JsonRpcRequest,
  inbound: Inbound,
  channel: Channel,
): Promise<JsonObject> {
  const { dialect } = live.session;
  let params = request.params ?? {};
  for (;;) {
    const message = { ...request, params: inEnvelope(params, dialect.terms, live.logLevel ?? DEFAULT_LOG_LEVEL) };
    const response = await responseOf(await exchange(asModern(inbound, message, channel.signal)), channel);
    if (response === undefined) throw new RpcError(-32603, 'the request was taken back');
    if ('error' in response) throw new RpcError(response.error.code, response.error.message, response.error.data);
    const { result } = response;
    if (result.resultType !== 'input_required' || dialect.asks === 'by result') return dialect.passed(result);
    const requests = (isObject(result.inputRequests) ? result.inputRequests : {}) as unknown as Record<
      string,
      InputRequest
    >;
    const { requestState: _, inputResponses: __, ...bare } = params;
    params = {
      ...bare,
      inputResponses: await askAll(live, channel, requests),
      ...(result.requestState !== undefined && { requestState: result.requestState }),
    };
  }
}

/** What the backend says of something that it may not have: then nothing. */
export async function askBackend(
  backend: Backend | undefined,
  dialect: SessionDialect,
  request: JsonRpcRequest,
  inbound: Inbound,
  required: boolean,
): Promise<JsonObject | undefined> {
  if (backend === undefined) return undefined;
  const message = { ...request, params: inEnvelope(request.params ?? {}, dialect.terms) };
  const response = await responseOf(await backend.exchange(asModern(inbound, message, inbound.signal)));
  if (response === undefined) return undefined;
  if ('result' in response) return response.result;
  if (!required && response.error.code === -32601) return undefined;
  throw new RpcError(response.error.code, response.error.message, response.error.data);
}

function inEnvelope(params: JsonObject, { client, capabilities }: Terms, logLevel?: string): JsonObject {
  const { elicitation, sampling, roots } = capabilities;
  const declared: JsonObject = {
    ...(elicitation && { elicitation: { ...(elicitation.form && { form: {} }), ...(elicitation.url && { url: {} }) } }),
    ...(sampling && { sampling: { ...(sampling.tools && { tools: {} }), ...(sampling.context && { context: {} }) } }),
    ...(roots && { roots: {} }),
  };
  return {
    ...params,
    _meta: {
      ...(isObject(params._meta) ? params._meta : {}),
      [META.protocolVersion]: VERSION,
      [META.clientCapabilities]: declared,
      [META.clientInfo]: { ...client },
      ...(logLevel !== undefined && { [META.logLevel]: logLevel }),
    },
  };
}

/** The headers of its own revision say nothing to the backend. */
function asModern({ header, ...inbound }: Inbound, message: JsonRpcRequest, signal: AbortSignal): Inbound {
  const read = header && ((name: string) => (name.startsWith('mcp-') ? undefined : header(name)));
  return {
    principal: inbound.principal,
    ...(inbound.scopes && { scopes: inbound.scopes }),
    message,
    signal,
    ...(read && { header: read }),
  };
}

/** The response in a reply; what precedes it goes to the client as it comes. */
async function responseOf(
  reply: Awaited<ReturnType<Backend['exchange']>>,
  channel?: Channel,
): Promise<JsonRpcResponse | undefined> {
  if (reply.kind === 'response') return reply.body;
  if (reply.kind !== 'stream') return undefined;
  let last: JsonRpcMessage | undefined;
  for await (const message of reply.messages) {
    if (!('method' in message)) last = message;
    else channel?.outlet()?.send(message);
  }
  return last as JsonRpcResponse | undefined;
}
