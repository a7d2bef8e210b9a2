import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../src/json.ts';
import type { Task } from '../../src/task/task.ts';

const TERMINAL = ['completed', 'failed', 'cancelled'];

export function hasEnded({ status }: JsonObject): boolean {
  return TERMINAL.includes(status as string);
}

/** The keys of the questions that a client sees. */
export function openKeys({ inputRequests }: JsonObject): string[] {
  return Object.keys((inputRequests ?? {}) as JsonObject);
}

/** How a task ended, as a text that is the same for every task that ended so. */
export function endOf(view: JsonObject): string {
  if (view['status'] === 'failed') return `failed: ${(view['error'] as { code: number }).code}`;
  return view['status'] === 'completed' ? endWith(view['result'] as JsonObject) : (view['status'] as string);
}

/** The same for a task of the file. */
export function endOfTask({ status, outcome }: Task): string {
  if (outcome === undefined) return status;
  return outcome.kind === 'error' ? `failed: ${outcome.error.code}` : endWith(outcome.result as unknown as JsonObject);
}

/** The same for the result of a call that needed no task. */
export function endWith(result: JsonObject): string {
  return `completed: ${(result['content'] as { text: string }[])[0]?.text}`;
}

/** What a client must never see after `before`; `undefined` where `after` is fine. */
export function setback(before: JsonObject, after: JsonObject): string | undefined {
  if (hasEnded(before)) {
    return isDeepStrictEqual(before, after) ? undefined : 'it had ended, and reads otherwise now';
  }
  for (const fixed of ['taskId', 'createdAt', 'ttlMs', 'pollIntervalMs']) {
    if (before[fixed] !== after[fixed]) return `${fixed} changed`;
  }
  // Texts in ISO 8601 sort as the times do.
  if ((after['lastUpdatedAt'] as string) < (before['lastUpdatedAt'] as string)) return 'lastUpdatedAt went back';
  if (saidCount(after) < saidCount(before)) return 'its statusMessage went back';
  return undefined;
}

/** What handlers count up in their texts: `2 of 3`. Without such a text, nothing that compares. */
function saidCount({ statusMessage }: JsonObject): number {
  return Number.parseInt((statusMessage ?? '') as string, 10);
}
