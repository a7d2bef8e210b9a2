import { createHash } from 'node:crypto';
import { ErrandError } from '../errors.ts';
import { canonical } from '../json.ts';
import { principalKey, type Principal } from '../task/principal.ts';
import type { Idempotency } from '../task/task.ts';
import type { ToolCall } from './engine.ts';

/** How long a key may be. */
const LONGEST = 256;

/** All anonymous callers are one principal, so that a key which others could guess would give them the task. */
const SHORTEST_ANONYMOUS = 32;

/** What a task keeps of the key of its call. Throws `invalidParams` where the key is none. */
export function idempotencyOf(key: string, call: ToolCall, principal: Principal): Idempotency {
  if (key.length === 0 || key.length > LONGEST) throw invalid(`is a text of 1 to ${LONGEST} characters`);
  if (principal.kind === 'anonymous' && key.length < SHORTEST_ANONYMOUS) {
    throw invalid(`of an anonymous caller has ${SHORTEST_ANONYMOUS} characters or more, which nobody can guess`);
  }
  return { key, digest: digestOf(canonical(call.arguments)) };
}

/** The seed of a task: the same for the same key, so that its steps have the same keys even if it was forgotten. */
export function seedOf(key: string, tool: string, principal: Principal): string {
  return digestOf(JSON.stringify([principalKey(principal), tool, key]));
}

/** The error of a call whose key was used with other arguments. */
export function keyConflict(tool: string): ErrandError {
  return new ErrandError(
    'keyConflict',
    `the idempotency key was used for a call of tool "${tool}" with other arguments; a new call needs a new key`,
  );
}

/** The error of a call with a key where no task would keep the promise. */
export function keyInVain(tool: string): ErrandError {
  return new ErrandError(
    'invalidParams',
    `Invalid params: tool "${tool}" makes no tasks, so it cannot keep to an idempotency key; call it without one`,
  );
}

function invalid(rule: string): ErrandError {
  return new ErrandError('invalidParams', `Invalid params: an idempotency key ${rule}`);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
