import type { ToolCall } from '../engine/engine.ts';
import { ErrandError } from '../errors.ts';
import { isObject } from '../json.ts';
import type { JsonObject } from '../json.ts';
import type { InputResponse } from '../task/input.ts';

/** The key of `_meta` under which clients name a call that they want made once. */
export const IDEMPOTENCY_KEY = 'dev.errand/idempotencyKey';

/** The error of params that are not what their method takes. */
export function invalid(why: string): ErrandError {
  return new ErrandError('invalidParams', `Invalid params: ${why}`);
}

export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

/** The task that params name. Throws where they name none. */
export function taskIdOf({ taskId }: JsonObject): string {
  if (typeof taskId !== 'string') throw invalid('taskId must be a string');
  return taskId;
}

/** The tool that a call names, and its arguments. */
export function calledTool({ name, arguments: args = {} }: JsonObject): Pick<ToolCall, 'tool' | 'arguments'> {
  if (typeof name !== 'string') throw invalid('name must be a string');
  if (!isObject(args)) throw invalid('arguments must be an object');
  return { tool: name, arguments: args };
}

/** Answers under the keys of their questions; each is an object, whatever was asked. */
export function responsesOf(value: unknown): Record<string, InputResponse> {
  if (!isObject(value)) throw invalid('inputResponses must be an object');
  for (const [key, response] of Object.entries(value)) {
    if (!isObject(response)) throw invalid(`inputResponses[${JSON.stringify(key)}] must be an object`);
  }
  return value as Record<string, InputResponse>;
}

/** The key under which a client makes a call once, where its `_meta` has one. */
export function idempotencyKeyOf(meta: JsonObject): Pick<ToolCall, 'idempotencyKey'> {
  const key = meta[IDEMPOTENCY_KEY];
  if (key === undefined) return {};
  if (typeof key !== 'string') throw invalid(`_meta["${IDEMPOTENCY_KEY}"] must be a string`);
  return { idempotencyKey: key };
}
