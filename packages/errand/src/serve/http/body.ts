import type { IncomingMessage } from 'node:http';
import { tooLarge } from './gate.ts';
import type { Gate } from './gate.ts';

/** Reads a request's body. Rejects where it is too large, or where the client went away. */
export function readBody(request: IncomingMessage, gate: Gate): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > gate.maxBodyBytes) {
        request.removeAllListeners('data').pause();
        reject(tooLarge(gate));
      } else chunks.push(chunk);
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)));
    // A client that leaves before the end breaks the connection, which is an error of the request.
    request.on('error', reject);
  });
}
