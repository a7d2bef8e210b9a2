import { PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/client';

const VERSION = '2026-07-28';

/** What `npm start` prints: where the server is, and lines to paste. */
export function howToCall(url: string): string {
  const call = `npx tsx examples/call.ts ${url}`;
  return `
Errand serves three tools at ${url}

  hash_tree    one SHA-256 over a folder, in steps
  thumbnails   small versions of the images in a folder, after asking you
  compare      a unified diff of two files, or of two URLs on this machine

Call them with the official client (it waits for the task, and puts questions to you):

  ${call} hash_tree path=examples
  ${call} thumbnails width=200
  ${call} compare left=package.json right=examples/package.json

Whatever happens to this server or to that client, a task is found again by the id that was shown:

  ${call} --task TASK_ID

Or with curl. The first line makes a task, the second reads it (put in the taskId you got):

${curl(url, 'tools/call', 'hash_tree', { name: 'hash_tree', arguments: { path: 'examples' } })}

${curl(url, 'tasks/get', 'TASK_ID', { taskId: 'TASK_ID' })}

Ctrl-C stops the server; tasks that are not finished go on at the next start.
`;
}

/** Every request carries its own headers and capabilities: the server remembers no connection. */
function curl(url: string, method: string, name: string, params: object): string {
  const _meta = {
    [PROTOCOL_VERSION_META_KEY]: VERSION,
    [CLIENT_CAPABILITIES_META_KEY]: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
  return [
    `  curl -s ${url} -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\`,
    `    -H 'MCP-Protocol-Version: ${VERSION}' -H 'Mcp-Method: ${method}' -H 'Mcp-Name: ${name}' \\`,
    `    -d '${body}'`,
  ].join('\n');
}
