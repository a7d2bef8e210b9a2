import { createHash } from 'node:crypto';
import { ErrandError } from '../errors.ts';
import { canonical } from '../json.ts';
import type { Store } from '../store.ts';
import { principalKey, type Principal } from '../task/principal.ts';
import type { Idempotency, Task } from '../task/task.ts';
import type { TaskCommands } from './commands.ts';
import type { CallAnswer, Caller, OnTask, ToolCall } from './engine.ts';
import { plain, type Holding } from './holding.ts';
import type { RegisteredTool } from './registry.ts';
import { stateAfter } from './waiting.ts';
import type { Waits } from './waits.ts';

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

export interface OnceParts {
  readonly store: Store;
  readonly commands: TaskCommands;
  readonly holding: Holding;
  readonly waits: Waits;
}

/**
 * Answers a call with an idempotency key: however often it is made, there is one task, which is on disk before it
 * runs and keeps the result, also where that is answered at once.
 */
export async function callOnce(
  { store, commands, holding, waits }: OnceParts,
  tool: RegisteredTool,
  call: ToolCall,
  caller: Caller,
  task: Task,
  onTask?: OnTask,
): Promise<CallAnswer> {
  const kept = await store.create(() => ({ task }));
  if (kept.idempotency?.digest !== task.idempotency?.digest) throw keyConflict(tool.name);
  if (!call.takesTasks) {
    // What was answered before there was a task is no answer to its questions (E-7).
    const { inputResponses: _, ...bare } = call;
    return holding.goOn(tool, bare, caller, kept.id, onTask);
  }
  if (tool.task === 'always' || call.wantsTask) return { kind: 'task', task: kept };
  const patient = kept.createdAt + tool.patienceMs;
  const seen = await stateAfter(waits.begin(patient - store.now()), commands, kept.id, caller);
  // By its own times, so that whoever asks again is answered as before.
  const wasQuick = seen.outcome !== undefined && seen.lastUpdatedAt <= patient;
  return wasQuick ? plain(seen.outcome) : { kind: 'task', task: seen };
}

function keyConflict(tool: string): ErrandError {
  return new ErrandError(
    'keyConflict',
    `the idempotency key was used for a call of tool "${tool}" with other arguments; a new call needs a new key`,
  );
}

function invalid(rule: string): ErrandError {
  return new ErrandError('invalidParams', `Invalid params: an idempotency key ${rule}`);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
