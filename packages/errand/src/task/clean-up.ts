import type { JsonObject } from '../json.ts';
import type { Task, TaskError, ToolResult } from './task.ts';

/** How a task ended, for whoever cleans up after it. */
export interface TaskEnd {
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** The arguments of the call, as the client sent them. */
  readonly arguments: JsonObject;
  readonly result?: ToolResult;
  readonly error?: TaskError;
}

/** A clean-up has at least this long, however short the retention of its task, in ms. */
const LEAST_TIME = 3_600_000;

/**
 * The task that cleans up after one that has ended, under the id that was kept for it. It belongs to the
 * server: no client knows of it, and it can ask nobody.
 */
export function cleanUpAfter(ended: Task, now: number): Task {
  const { status, outcome, principal } = ended;
  const end = {
    status,
    arguments: ended.arguments,
    ...(outcome?.kind === 'result' && { result: outcome.result }),
    ...(outcome?.kind === 'error' && { error: outcome.error }),
  };
  const until = Math.max(ended.expiresAt, now + LEAST_TIME);
  return {
    id: ended.cleanUp!,
    version: 1,
    principal: 'server',
    tool: ended.tool,
    toolVersion: ended.toolVersion,
    arguments: end as unknown as JsonObject,
    seed: `${ended.seed}/clean-up`,
    capabilities: {},
    cleansUp: { id: ended.id, principal },
    ...(ended.scopes && { scopes: ended.scopes }),
    ...(ended.traceparent !== undefined && { traceparent: ended.traceparent }),
    status: 'working',
    inputs: {},
    createdAt: now,
    lastUpdatedAt: now,
    deadlineAt: until,
    expiresAt: until,
    pollIntervalMs: ended.pollIntervalMs,
    epoch: 0,
    wakeAt: now,
    runs: 0,
    events: 0,
  };
}
