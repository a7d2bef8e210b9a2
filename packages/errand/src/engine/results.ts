import type { StandardSchemaV1 } from '@standard-schema/spec';
import { ErrandError, RpcError } from '../errors.ts';
import { isObject, jsonCopy, type JsonObject, type JsonValue } from '../json.ts';
import { checkSize, type Limits } from '../limits.ts';
import { check, issuesText } from '../schema.ts';
import type { TaskOutcome, ToolResult } from '../task/task.ts';
import { jsonOf, messageOf, StepError } from './failures.ts';
import type { RegisteredTool } from './registry.ts';

/** What a handler returned, as the tool result that it stands for. Throws `internal` where it is none. */
export async function toResult(tool: RegisteredTool, limits: Limits, returned: unknown): Promise<ToolResult> {
  const result = typeof returned === 'string' ? textResult(returned) : jsonResult(tool, returned);
  checkSize(result as unknown as JsonObject, limits.resultBytes, `the result of tool "${tool.name}"`);
  if (tool.outputSchema !== undefined && !result.isError) await checkOutput(tool, tool.outputSchema, result);
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
  const { isError } = returned;
  if (isError !== undefined && typeof isError !== 'boolean')
    throw new ErrandError('internal', `${what}: isError is no boolean`);
  const result = jsonCopy(returned, what) as JsonObject & { content: JsonValue[] };
  result.content.forEach((block, index) => checkBlock(block, `${what}: content[${index}]`));
  return result as unknown as ToolResult;
}

/** What each kind of content block must have, by name; a `text` or `blob` of a resource is looked at by itself. */
const BLOCKS: Record<string, readonly string[]> = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name'],
  resource: [],
};

function checkBlock(block: JsonValue, what: string): void {
  const kind = isObject(block) ? block['type'] : undefined;
  const required = typeof kind === 'string' && Object.hasOwn(BLOCKS, kind) ? BLOCKS[kind] : undefined;
  if (!isObject(block) || required === undefined) {
    throw new ErrandError(
      'internal',
      `${what} is no content block; its type is one of ${Object.keys(BLOCKS).join(', ')}`,
    );
  }
  const { resource } = block;
  const missing = required.find((name) => typeof block[name] !== 'string');
  if (missing !== undefined)
    throw new ErrandError('internal', `${what} is of type "${kind as string}", so its ${missing} must be a text`);
  if (kind === 'resource' && !(isObject(resource) && typeof resource['uri'] === 'string')) {
    throw new ErrandError('internal', `${what} is of type "resource", so its resource must have a uri`);
  }
}

/** What a handler threw: a JSON-RPC error if it meant one, else a tool result that says so to the model. */
export function toOutcome(thrown: unknown): TaskOutcome {
  const error = asRpcError(thrown);
  if (error !== undefined) {
    const { code, data } = error;
    return {
      kind: 'error',
      error: {
        code,
        message: messageOf(error),
        ...(data === undefined ? {} : { data: jsonOf(data, 'the data of an error') }),
      },
    };
  }
  return { kind: 'result', result: { ...textResult(messageOf(thrown)), isError: true } };
}

function asRpcError(thrown: unknown): RpcError | undefined {
  if (thrown instanceof RpcError) return thrown;
  // Thrown within a step, it came back through the journal.
  const { name, code, message, data } = thrown instanceof StepError ? thrown : ({} as Partial<StepError>);
  const meant = (name === 'RpcError' || name === 'ErrandError') && typeof code === 'number';
  return meant ? new RpcError(code, message!, data) : undefined;
}

async function checkOutput(
  tool: RegisteredTool,
  outputSchema: StandardSchemaV1,
  { structuredContent }: ToolResult,
): Promise<void> {
  const what = `the structuredContent of tool "${tool.name}"`;
  if (structuredContent === undefined)
    throw new ErrandError('internal', `${what} is missing, but the tool has an outputSchema`);
  const checked = await check(outputSchema, structuredContent);
  if ('issues' in checked)
    throw new ErrandError('internal', `${what} does not fit its outputSchema: ${issuesText(checked.issues)}`);
}
