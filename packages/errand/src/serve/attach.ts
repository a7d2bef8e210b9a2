import type { McpServer, Server } from '@modelcontextprotocol/server';
import { principalOf } from './sdk/caller.ts';
import type { AttachOptions, SdkServer } from './sdk-server.ts';
import { Connection, type Served } from './sdk/connection.ts';

const attached = new WeakSet<Server>();

/**
 * Puts tasks into an SDK server that its owner keeps hosting: by `createMcpHandler`, by
 * `serveStdio`, or over a transport. Where the host makes a server for each request, attach each.
 *
 * On revision 2026-07-28 our tools are then listed and called beside the server's own, tasks are
 * read, answered and cancelled, and the extension is declared. The rest, and every older revision,
 * is the server's as before. Hosts that keep `subscriptions/listen` to themselves, as those two
 * do, grant no `taskIds`: clients that wait there poll.
 *
 * Throws where the server is connected, or has been attached.
 */
export function attach(mcp: SdkServer, served: Omit<Served, 'principal'>, options: AttachOptions = {}): void {
  const { server } = mcp as McpServer;
  if (mcp.isConnected()) throw new Error('attach: the server is connected already; attach before it connects');
  if (attached.has(server)) throw new Error('attach: the server has tasks already; attach it once');
  attached.add(server);

  const { principal } = options;
  const caller: Served['principal'] = (extra) =>
    principal && extra?.authInfo ? principal(extra.authInfo) : principalOf(extra);
  const connect = server.connect.bind(server);
  server.connect = (transport) =>
    connect(new Connection(server, transport, { ...served, principal: caller }).transport);
}
