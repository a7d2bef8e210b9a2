import type { Attributes } from '@opentelemetry/api';
import { RpcError } from '../errors.ts';
import type { TaskOutcome } from '../task/task.ts';

/*
 * Names of the semantic conventions for MCP and generative AI where they have one, else our own under `errand.`.
 */

export const METHOD = 'mcp.method.name';
export const REVISION = 'mcp.protocol.version';
export const REQUEST_ID = 'jsonrpc.request.id';
export const RESPONSE_CODE = 'rpc.response.status_code';
export const TRANSPORT = 'network.transport';
export const OPERATION = 'gen_ai.operation.name';
export const TOOL = 'gen_ai.tool.name';
export const ERROR_TYPE = 'error.type';
export const TASK_ID = 'errand.task.id';
export const TASK_STATUS = 'errand.task.status';
/** How a call was answered: `result`, `task` or `input`. */
export const ANSWER = 'errand.call.answer';
/** How many journal entries a run began with. */
export const REPLAYED = 'errand.run.replayed';
/** How a run ended: `ended`, `parked`, `stopped`, `abandoned`, ... */
export const RUN_END = 'errand.run.end';
export const STEP = 'errand.step.name';
/** How many attempts a step took. */
export const ATTEMPTS = 'errand.step.attempts';

/** The value of `error.type` for a result that says of itself that it is an error. */
const TOOL_ERROR = 'tool_error';

/** The kind of an error that was thrown. Its message may quote anything, so it is not told. */
export function errorTypeOf(thrown: unknown): string {
  if (thrown instanceof RpcError) return `${thrown.code}`;
  return thrown instanceof Error ? thrown.name : '_OTHER';
}

/** The kind of an outcome that is an error; `undefined` where it is none. */
export function errorTypeOfOutcome(outcome: TaskOutcome | undefined): string | undefined {
  if (outcome?.kind === 'error') return `${outcome.error.code}`;
  return outcome?.result.isError ? TOOL_ERROR : undefined;
}

export function errorAttributes(type: string | undefined): Attributes {
  return type === undefined ? {} : { [ERROR_TYPE]: type };
}
