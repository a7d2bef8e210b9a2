import { randomUUID } from 'node:crypto';
import type { JsonValue } from '../json.ts';
import type { Store } from '../store.ts';
import { principalKey } from '../task/principal.ts';
import type { Task } from '../task/task.ts';
import { created } from '../task/transitions.ts';
import { askedInWords } from './capabilities.ts';
import type { Caller, ToolCall } from './engine.ts';
import { handsOff } from './hold.ts';
import { idempotencyOf, seedOf } from './idempotency.ts';
import type { RegisteredTool } from './registry.ts';

/** The task that a call may become. */
export function newTask(
  store: Store,
  tool: RegisteredTool,
  call: ToolCall,
  caller: Caller,
  prepared: JsonValue | undefined,
): Task {
  const { idempotencyKey: key } = call;
  return created(
    {
      id: store.newId(),
      principal: principalKey(caller.principal),
      tool: tool.name,
      toolVersion: tool.version,
      arguments: call.arguments,
      ...(prepared === undefined ? {} : { prepared }),
      seed: key === undefined ? randomUUID() : seedOf(key, tool.name, caller.principal),
      ...(key !== undefined && { idempotency: idempotencyOf(key, call, caller.principal) }),
      capabilities: call.takesTasks || !handsOff(tool.hold) ? call.capabilities : askedInWords(call.capabilities),
      ...(caller.scopes && { scopes: caller.scopes }),
      ...(call.trace && { traceparent: call.trace.traceparent }),
      ...(call.birth && { birth: call.birth }),
      ...(tool.onEnd && { cleanUp: store.newId() }),
      ...lifeOf(tool, call),
      pollIntervalMs: tool.pollIntervalMs,
    },
    store.now(),
  );
}

/** What is asked for in vain would leave no time to look at the task. */
const SHORTEST_LIFE = 1000;

/** How long the work may take, and its record be kept: as the tool says, or shorter where the client wants that (L-33). */
function lifeOf({ deadlineMs, retentionMs }: RegisteredTool, { ttlMs = Infinity }: ToolCall) {
  const life = Math.min(deadlineMs + retentionMs, Math.max(SHORTEST_LIFE, ttlMs));
  const work = Math.min(deadlineMs, life);
  return { deadlineMs: work, retentionMs: life - work };
}
