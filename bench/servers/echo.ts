// The yardstick: the least that a JSON-RPC server on node:http can do.
import { createServer } from 'node:http';
import { listen } from '../serving.ts';

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    const { id, params } = JSON.parse(text) as { id: number; params: object };
    const body = JSON.stringify({ jsonrpc: '2.0', id, result: params });
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
    response.end(body);
  });
});
listen(server);
