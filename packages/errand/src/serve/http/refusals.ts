import { STATUS_CODES } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ErrandError, RpcError } from '../../errors.ts';
import { errorResponse } from '../../jsonrpc.ts';

/**
 * Answers what Node refuses before there is a request to serve: bytes that are no HTTP, heads that are too large,
 * bodies that break off or never come. Node's own answers have no body, in which a client looks for the error.
 */
export function answerRefusals(server: Server): void {
  /** The answer that each connection is in the middle of, if it is. */
  const current = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (request, response) => current.set(request.socket, response));

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answer = current.get(socket);
    // Nothing may come after the first half of an answer, and nobody is there to read one who has gone.
    const isInAnswer = answer !== undefined && answer.headersSent && !answer.writableFinished;
    if (error.code === 'ECONNRESET' || !socket.writable || isInAnswer) return void socket.destroy();
    socket.end(responseTo(refusalOf(error.code)), () => socket.destroy());
  });

  server.on('checkExpectation', (_request, response: ServerResponse) => {
    const refusal = new RpcError(-32600, 'Invalid request: only 100-continue can be expected', undefined, 417);
    const body = bodyOf(refusal);
    // What was held back until somebody says "go on" must not be taken for the next request.
    response.shouldKeepAlive = false;
    response
      .writeHead(417, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
  });
}

/** What is wrong, by the code of Node's error. */
function refusalOf(code: string | undefined): RpcError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new RpcError(-32600, 'Invalid request: its headers are too large', undefined, 431);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ErrandError('tooLarge', 'The extensions of a chunk are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new RpcError(-32600, 'Invalid request: it did not come to its end in time', undefined, 408);
    default:
      return new ErrandError('invalidRequest', 'Invalid request: not valid HTTP/1.1');
  }
}

function bodyOf(refusal: RpcError): string {
  return JSON.stringify(errorResponse(undefined, refusal));
}

/** A whole response as text, for a connection on which there is no response to write to. */
function responseTo(refusal: RpcError): string {
  const body = bodyOf(refusal);
  return [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}
