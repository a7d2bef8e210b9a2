import type { Answer } from './connection.ts';

/** Fields of an answer that the load looks at. */
export type Result = Record<string, unknown>;

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {
    elicitation: {},
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  },
};

let lastId = 0;

/** A request of 2026-07-28, with what it wants in its headers, as text. */
export function modernRequest(url: URL, method: string, params: Result): string {
  const target = params['taskId'] ?? params['name'];
  const headers = `MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: ${method}\r\n`;
  const name = typeof target === 'string' ? `Mcp-Name: ${target}\r\n` : '';
  return post(url, headers + name, { jsonrpc: '2.0', id: ++lastId, method, params: { ...params, _meta: META } });
}

/** A request of 2025-11-25 within a session, as text; one without a session is to open one. */
export function sessionRequest(url: URL, session: string | undefined, method: string, params: Result): string {
  return post(url, sessionHeaders(session), { jsonrpc: '2.0', id: ++lastId, method, params });
}

export function sessionNotification(url: URL, session: string, method: string): string {
  return post(url, sessionHeaders(session), { jsonrpc: '2.0', method });
}

/** Ends a session. */
export function sessionEnd(url: URL, session: string): string {
  return `DELETE ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\n${sessionHeaders(session)}\r\n`;
}

function sessionHeaders(session: string | undefined): string {
  return `MCP-Protocol-Version: 2025-11-25\r\n${session === undefined ? '' : `Mcp-Session-Id: ${session}\r\n`}`;
}

function post(url: URL, headers: string, message: object): string {
  const body = JSON.stringify(message);
  return (
    `POST ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
    `Accept: application/json, text/event-stream\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

/** The result of an answer, be it JSON or a stream of events that ends with it. Throws what else it is. */
export function resultOf({ body }: Answer): Result {
  const text = body.startsWith('{') ? body : body.slice(body.lastIndexOf('data: ') + 6);
  const { result } = JSON.parse(text) as { result?: Result };
  if (result === undefined || result['isError'] === true) throw new Error(`unexpected answer: ${body}`);
  return result;
}
