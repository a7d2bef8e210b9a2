import { ErrandError, RpcError } from '../errors.ts';
import { isObject, jsonCopy, type JsonObject } from '../json.ts';
import { checkSize, type Limits } from '../limits.ts';
import { check, issuesText } from '../schema.ts';
import type { TaskOutcome, ToolResult } from '../task/task.ts';
import { StepError } from './failures.ts';
import type { RegisteredTool } from './registry.ts';

/** What a handler returned, as the tool result that it stands for. Throws `internal` where it is none. */
export async function toResult(tool: RegisteredTool, limits: Limits, returned: unknown): Promise<ToolResult> {
  const result = typeof returned === 'string' ? textResult(returned) : jsonResult(tool, returned);
  checkSize(result as unknown as JsonObject, limits.resultBytes, `the result of tool "${tool.name}"`);
  await checkOutput(tool, result);
  return result;
}

function textResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }] };
}

function jsonResult(tool: RegisteredTool, returned: unknown): ToolResult {
  const what = `the result of tool "${tool.name}"`;
  if (!isObject(returned) || !Array.isArray(returned['content'])) {
    throw new ErrandError('internal', `${what} is neither a text nor an object with a content list`);
  }
  return jsonCopy(returned, what) as unknown as ToolResult;
}

/** What a handler threw: a JSON-RPC error if it meant one, else a tool result that says so to the model. */
export function toOutcome(thrown: unknown): TaskOutcome {
  const error = asRpcError(thrown);
  if (error !== undefined) {
    const { code, message, data } = error;
    return { kind: 'error', error: { code, message, ...(data === undefined ? {} : { data }) } };
  }
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return { kind: 'result', result: { ...textResult(text), isError: true } };
}

function asRpcError(thrown: unknown): RpcError | undefined {
  if (thrown instanceof RpcError) return thrown;
  // Thrown within a step, it came back through the journal.
  const { name, code, message, data } = thrown instanceof StepError ? thrown : ({} as Partial<StepError>);
  const meant = (name === 'RpcError' || name === 'ErrandError') && typeof code === 'number';
  return meant ? new RpcError(code, message!, data) : undefined;
}

async function checkOutput(tool: RegisteredTool, { structuredContent, isError }: ToolResult): Promise<void> {
  if (tool.outputSchema === undefined || isError) return;
  const what = `the structuredContent of tool "${tool.name}"`;
  if (structuredContent === undefined)
    throw new ErrandError('internal', `${what} is missing, but the tool has an outputSchema`);
  const checked = await check(tool.outputSchema, structuredContent);
  if ('issues' in checked)
    throw new ErrandError('internal', `${what} does not fit its outputSchema: ${issuesText(checked.issues)}`);
}
