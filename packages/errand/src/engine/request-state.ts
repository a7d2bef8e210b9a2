import { createHash } from 'node:crypto';
import { ErrandError } from '../errors.ts';
import { canonical, type JsonValue } from '../json.ts';
import type { Seal } from '../seal.ts';
import type { InputResponse } from '../task/input.ts';
import { principalKey, type Principal } from '../task/principal.ts';
import type { ToolCall } from './engine.ts';

/** For how long a client may take to make the call again, in ms. */
const PATIENCE = 24 * 3_600_000;

/** What a call carries from one round to the next. */
export type CarriedState =
  /** The answers of earlier rounds, by key. */
  | { readonly kind: 'answers'; readonly answers: Readonly<Record<string, InputResponse>> }
  /** The call is a task by now, which the client cannot see. */
  | { readonly kind: 'task'; readonly taskId: string };

/** Seals and opens `requestState`: bound to the principal and to the call, and of limited life (F-2). */
export interface RequestStates {
  seal(principal: Principal, call: ToolCall, state: CarriedState): string;
  /** What the client echoed. Throws `invalidRequestState` where it is not what this call was given. */
  open(principal: Principal, call: ToolCall, requestState: string): CarriedState;
}

/** `seal` gives the seal once the store is open. */
export function createRequestStates(seal: () => Seal, now: () => number): RequestStates {
  return {
    seal: (principal, call, state) =>
      seal().seal({ until: now() + PATIENCE, state: state as JsonValue }, contextOf(principal, call)),
    open(principal, call, requestState) {
      const opened = seal().open(requestState, contextOf(principal, call)) as
        { until: number; state: CarriedState } | undefined;
      if (opened === undefined || opened.until < now()) {
        throw new ErrandError(
          'invalidRequestState',
          'requestState is not what this call was given, or too old: make the call anew, without it',
        );
      }
      return opened.state;
    },
  };
}

function contextOf(principal: Principal, { tool, arguments: args }: ToolCall): string {
  const digest = createHash('sha256').update(canonical(args)).digest('base64url');
  return JSON.stringify([principalKey(principal), tool, digest]);
}
