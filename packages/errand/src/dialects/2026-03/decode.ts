import type { HeaderReader, SessionCommand, SessionDialect, SessionServed, Terms } from '../../dialect.ts';
import type { ToolCall } from '../../engine/engine.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import type { JsonRpcRequest } from '../../jsonrpc.ts';
import { callCommand, callFacts, decodeCommon, metaOf, methodNotFound, ttlWish } from '../2025-11-25/decode.ts';
import { RELATED_TASK } from '../2025-11-25/envelope.ts';
import { calledTool, invalid, responsesOf, taskIdOf } from '../params.ts';
import { understands } from './envelope.ts';

/** Requests of the drafts to commands. */
export function createDecode(served: SessionServed, terms: Terms): SessionDialect['decode'] {
  const extended = understands(terms, 'subtasks');
  return (request, header) => {
    const { method, params = {} } = request;
    switch (method) {
      case 'tools/call':
        return decodeCall(request, terms, extended, header);
      case 'tasks/get':
        return { kind: 'read', taskId: taskIdOf(params), extended };
      case 'tasks/continue':
        return { kind: 'continue', taskId: taskIdOf(params), ...answersIn(params) };
      case 'tasks/input_response':
        // What the rival flow of SEP-2322 had in its place (M-10, R-1): it names its task by metadata alone.
        return { kind: 'answer', taskId: relatedTask(params), responses: responsesOf(params.inputResponses) };
      case 'tasks/cancel':
        return { kind: 'cancel', taskId: taskIdOf(params) };
      case 'tasks/result':
        throw methodNotFound(method); // K-14
      default:
        return decodeCommon(served, method, params, true);
    }
  };
}

/** A client of the drafts takes a task for any call (U-6, U-7), and what it wishes of one is a wish (U-8, U-9). */
function decodeCall(
  request: JsonRpcRequest & { readonly task?: unknown },
  { capabilities }: Terms,
  extended: boolean,
  header: HeaderReader | undefined,
): SessionCommand {
  const { params = {} } = request;
  const { inputResponses, requestState } = params;
  if (requestState !== undefined && typeof requestState !== 'string') throw invalid('requestState must be a string');
  const meta = metaOf(params);
  const wish = params.task ?? request.task;
  const call: ToolCall = {
    ...calledTool(params),
    ...callFacts(meta, header),
    takesTasks: true,
    capabilities,
    ...(isObject(wish) && ttlWish(wish)),
    ...(inputResponses !== undefined && { inputResponses: responsesOf(inputResponses) }),
    ...(requestState !== undefined && { requestState }),
  };
  return callCommand(call, meta, extended);
}

function answersIn({ inputResponses }: JsonObject): Pick<Extract<SessionCommand, { kind: 'continue' }>, 'responses'> {
  return inputResponses === undefined ? {} : { responses: responsesOf(inputResponses) };
}

function relatedTask(params: JsonObject): string {
  const related = metaOf(params)[RELATED_TASK];
  if (!isObject(related)) throw invalid(`_meta["${RELATED_TASK}"] must name the task`);
  return taskIdOf(related);
}
