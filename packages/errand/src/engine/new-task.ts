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
      ...(tool.onEnd && { cleanUp: store.newId() }),
      deadlineMs: tool.deadlineMs,
      retentionMs: tool.retentionMs,
      pollIntervalMs: tool.pollIntervalMs,
    },
    store.now(),
  );
}
