import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Principal } from '../task/principal.ts';
import type { Exchange } from './exchange.ts';

export interface HttpOptions {
  /** Default 8080; 0 takes a free one. */
  readonly port?: number;
  /** The address to bind. Default `127.0.0.1`; any but a loopback one needs `principal`. */
  readonly host?: string;
  /** The path of the endpoint. Default `/mcp`. */
  readonly path?: string;
  /** Larger bodies are refused with 413. Default 4 MiB. */
  readonly maxBodyBytes?: number;
  /** Hostnames, without port, that the Host header may name. Default on a loopback address: the loopback ones; elsewhere: any. */
  readonly allowedHosts?: readonly string[];
  /** Origins (`https://app.example`) of web pages that may call, beside pages on the loopback addresses. */
  readonly allowedOrigins?: readonly string[];
  /** Who sent a request. Throw an `RpcError` to refuse it. Default: anonymous. */
  readonly principal?: (request: IncomingMessage) => Principal | Promise<Principal>;
  readonly log?: Logger;
}

export interface HttpServing {
  /** The endpoint, for instance `http://127.0.0.1:8080/mcp`. */
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, lets those under way end (10 s at most), and frees the port. */
  close(): Promise<void>;
}

/** Serves an exchange over Streamable HTTP. Resolves when it listens. */
export declare function serveHttp(exchange: Exchange, options?: HttpOptions): Promise<HttpServing>;
