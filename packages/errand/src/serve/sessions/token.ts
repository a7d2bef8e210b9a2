import { randomBytes } from 'node:crypto';
import type { Terms } from '../../dialect.ts';
import type { JsonValue } from '../../json.ts';
import type { RequestId } from '../../jsonrpc.ts';
import { createSeal, type Seal } from '../../seal.ts';
import { principalKey, type Principal } from '../../task/principal.ts';

/** For how long the id of a session is good unless somebody says otherwise, in ms. */
export const SESSION_MS = 24 * 3_600_000;

/** What the id of a session says, to those who have the secret. */
export interface Opened {
  /** Names the session; part of its id. */
  readonly key: string;
  readonly terms: Terms;
  /** When the id was given out, in ms since the epoch. */
  readonly issuedAt: number;
}

/** What a stream was opened for, so that it can be gone on with where nobody remembers it. */
export type StreamPurpose =
  /** Whatever there is to say (GET). */
  | { readonly kind: 'any' }
  /** A task, and the response to a request about it, which can be made again. */
  | { readonly kind: 'task'; readonly method: string; readonly taskId: string; readonly request: RequestId }
  /** Another request, whose answer only who began with it can give. */
  | { readonly kind: 'request'; readonly request: RequestId };

/**
 * Makes and reads the texts that clients carry for us: ids of sessions and of streams. They are sealed, so that no
 * server need keep them: a session survives a restart, and is good wherever the secret is the same.
 */
export interface Tokens {
  mint(principal: Principal, terms: Terms): { readonly id: string; readonly opened: Opened };
  /** `undefined` where it is not ours, too old, or was given to another principal. */
  open(principal: Principal, id: string): Opened | undefined;
  /** Whether something is too old that was given out at a time. */
  isOver(issued: Pick<Opened, 'issuedAt'>): boolean;
  now(): number;
  stream(session: string, purpose: StreamPurpose): string;
  openStream(session: string, token: string): StreamPurpose | undefined;
  /** A place in the list of tasks, which only its principal can come back to. */
  cursor(principal: Principal, after: string): string;
  openCursor(principal: Principal, cursor: string): string | undefined;
}

interface Written {
  readonly k: string;
  readonly t: Terms;
  readonly i: number;
}

/** `lifetimeMs`: for how long the id of a session is good. */
export function createTokens(secret: Uint8Array, lifetimeMs: number, now: () => number): Tokens {
  const isOver: Tokens['isOver'] = ({ issuedAt }) => issuedAt + lifetimeMs <= now();
  const [sessions, streams, cursors] = ['session', 'stream', 'cursor'].map((purpose) =>
    createSeal(secret, purpose),
  ) as [Seal, Seal, Seal];
  return {
    mint(principal, terms) {
      const opened: Opened = { key: randomBytes(16).toString('base64url'), terms, issuedAt: now() };
      const written: Written = { k: opened.key, t: terms, i: opened.issuedAt };
      return { id: sessions.seal(written as unknown as JsonValue, principalKey(principal)), opened };
    },
    open(principal, id) {
      const written = sessions.open(id, principalKey(principal)) as unknown as Written | undefined;
      if (written === undefined || isOver({ issuedAt: written.i })) return undefined;
      return { key: written.k, terms: written.t, issuedAt: written.i };
    },
    isOver,
    now,
    // What is added makes each one another.
    stream: (session, purpose) => streams.seal({ ...purpose, n: randomBytes(6).toString('base64url') }, session),
    openStream: (session, token) => streams.open(token, session) as unknown as StreamPurpose | undefined,
    cursor: (principal, after) => cursors.seal(after, principalKey(principal)),
    openCursor: (principal, cursor) => cursors.open(cursor, principalKey(principal)) as string | undefined,
  };
}
