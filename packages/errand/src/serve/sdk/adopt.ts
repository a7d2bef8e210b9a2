import type * as Sdk from '@modelcontextprotocol/server';
import type { McpServer, Transport } from '@modelcontextprotocol/server';
import type { JsonRpcRequest } from '../exchange.ts';

/** The wire revision that an adopted server speaks. */
export const REVISION = '2026-07-28';

const PACKAGE = '@modelcontextprotocol/server';

/**
 * Connects an SDK server to a transport of ours for good, bound to the revision of 2026-07-28.
 *
 * The SDK has no call that binds a server of any options to a revision: its HTTP handler does it
 * for each exchange. So we let that handler prepare the server for one exchange, which we answer
 * in the server's place, and connect the server as it is then. Only public names are used.
 *
 * Resolves with what tells a request that the SDK takes for one: any other it drops without an answer.
 */
export async function adopt(mcp: McpServer, transport: Transport): Promise<(message: unknown) => boolean> {
  if (mcp.isConnected()) throw new Error('server: the McpServer is connected already; give one that nobody else hosts');
  const sdk = await loadSdk();
  const { server } = mcp;
  const connect = server.connect;
  server.connect = standIn;
  try {
    const handler = sdk.createMcpHandler(() => server, { legacy: 'reject' });
    await handler.fetch(probe());
  } finally {
    server.connect = connect;
  }
  if (server.getNegotiatedProtocolVersion() !== REVISION) throw tooOld();
  await mcp.connect(transport);
  return sdk.isJSONRPCRequest;
}

async function loadSdk(): Promise<typeof Sdk> {
  const sdk = await import('@modelcontextprotocol/server').catch((cause: unknown) => {
    throw new Error(`server: needs the package ${PACKAGE}, 2.4.0 or newer: npm install ${PACKAGE}`, { cause });
  });
  if (typeof sdk.createMcpHandler !== 'function') throw tooOld();
  return sdk;
}

function tooOld(): Error {
  return new Error(`server: the ${PACKAGE} that is installed cannot serve revision ${REVISION}; 2.4.0 or newer can`);
}

/** Answers the one exchange that the SDK prepared the server for. */
async function standIn(exchange: Transport): Promise<void> {
  exchange.onmessage = (message) => {
    const { id } = message as unknown as JsonRpcRequest;
    void exchange.send({ jsonrpc: '2.0', id, result: { resultType: 'complete' } });
  };
  await exchange.start();
}

function probe(): Request {
  const method = 'server/discover';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return new Request('http://localhost/', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'mcp-protocol-version': REVISION, 'mcp-method': method },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method, params: { _meta } }),
  });
}
