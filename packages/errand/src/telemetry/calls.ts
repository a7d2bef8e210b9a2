import { context, SpanKind, trace, type Attributes, type Context, type Link, type Tracer } from '@opentelemetry/api';
import type { CallAnswer, Caller, ToolCall } from '../engine/engine.ts';
import { RpcError } from '../errors.ts';
import { isObject } from '../json.ts';
import {
  ANSWER,
  errorAttributes,
  errorTypeOf,
  errorTypeOfOutcome,
  METHOD,
  OPERATION,
  REQUEST_ID,
  RESPONSE_CODE,
  REVISION,
  TASK_ID,
  TOOL,
  TRANSPORT,
} from './attributes.ts';
import type { Instruments } from './instruments.ts';
import { below, fail, nameOf, remoteSpan, within } from './spans.ts';

const CALL = 'tools/call';

/** Answers a call of a tool, and tells how long that took. */
export async function timeCall(
  { callDuration }: Instruments,
  answer: () => Promise<CallAnswer>,
  tool: string,
): Promise<CallAnswer> {
  const began = performance.now();
  const record = (errorType: string | undefined): void =>
    callDuration.record((performance.now() - began) / 1000, {
      [METHOD]: CALL,
      [TOOL]: tool,
      ...errorAttributes(errorType),
    });
  try {
    const answered = await answer();
    record(errorTypeOfAnswer(answered));
    return answered;
  } catch (thrown) {
    record(errorTypeOf(thrown));
    throw thrown;
  }
}

/** Answers a call of a tool within a span, which becomes the trace of the task that it makes. */
export async function traceCall(
  tracer: Tracer,
  call: ToolCall,
  caller: Caller,
  answer: (traced: ToolCall) => Promise<CallAnswer>,
): Promise<CallAnswer> {
  const { base, links } = placeOf(call);
  const attributes = { ...attributesOf(caller), [METHOD]: CALL, [OPERATION]: 'execute_tool', [TOOL]: call.tool };
  const span = tracer.startSpan(`${CALL} ${call.tool}`, { kind: SpanKind.SERVER, attributes, links }, base);
  const traceparent = nameOf(span.spanContext());
  // Without a name of its own, the span is nobody's, and the task keeps the trace of its caller.
  const traced: ToolCall = traceparent === undefined ? call : { ...call, trace: { traceparent, from: 'message' } };
  try {
    const answered = await within(span, base, () => answer(traced));
    span.setAttribute(ANSWER, answered.kind);
    if (answered.kind !== 'input' && answered.task) span.setAttribute(TASK_ID, answered.task.id);
    const errorType = errorTypeOfAnswer(answered);
    if (errorType !== undefined) fail(span, errorType);
    return answered;
  } catch (thrown) {
    const code = thrown instanceof RpcError ? thrown.code : -32603;
    span.setAttribute(RESPONSE_CODE, `${code}`);
    fail(span, errorTypeOf(thrown));
    throw thrown;
  } finally {
    span.end();
  }
}

/**
 * Where the span of a call belongs: below what the message names, else below what surrounds it here, such as
 * the span of the HTTP request, which knows what its headers name.
 */
function placeOf({ trace: sender }: ToolCall): { readonly base: Context; readonly links: Link[] } {
  const surroundings = trace.getActiveSpan()?.spanContext();
  const named = sender && remoteSpan(sender.traceparent, sender.tracestate);
  if (sender?.from === 'message') {
    return { base: below(named), links: surroundings === undefined ? [] : [{ context: surroundings }] };
  }
  return { base: surroundings === undefined ? below(named) : context.active(), links: [] };
}

function attributesOf({ message, header }: Caller): Attributes {
  const attributes: Attributes = { [TRANSPORT]: header === undefined ? 'pipe' : 'tcp' };
  if (!isObject(message)) return attributes;
  const { id, params } = message;
  if (typeof id === 'string' || typeof id === 'number') attributes[REQUEST_ID] = `${id}`;
  const meta = isObject(params) ? params['_meta'] : undefined;
  // In a session the message does not say; over HTTP its header does.
  const said = isObject(meta) ? meta['io.modelcontextprotocol/protocolVersion'] : undefined;
  const revision = said ?? header?.('mcp-protocol-version');
  if (typeof revision === 'string') attributes[REVISION] = revision;
  return attributes;
}

function errorTypeOfAnswer(answer: CallAnswer): string | undefined {
  return answer.kind === 'result' ? errorTypeOfOutcome({ kind: 'result', result: answer.result }) : undefined;
}
