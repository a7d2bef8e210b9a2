import {
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';
import { parseTraceparent, traceparentOf } from '../traceparent.ts';
import { ERROR_TYPE } from './attributes.ts';

/** Who makes spans; `undefined` where none was registered with the API, whose own ones are for nobody. */
export function registeredTracer(): Tracer | undefined {
  // The API's stand-in has a delegate once there is something to delegate to; what others put there has no such thing.
  const provider: TracerProvider & { getDelegateTracer?: TracerProvider['getTracer'] } = trace.getTracerProvider();
  if (provider.getDelegateTracer !== undefined && !provider.getDelegateTracer('errand')) return undefined;
  return trace.getTracer('errand');
}

/** The span that a `traceparent` names, which is another process's, or of an earlier life of this one. */
export function remoteSpan(traceparent: string | undefined, tracestate?: string): SpanContext | undefined {
  const parts = traceparent === undefined ? undefined : parseTraceparent(traceparent);
  if (parts === undefined) return undefined;
  const { traceId, spanId, flags } = parts;
  const remote: SpanContext = { traceId, spanId, traceFlags: flags, isRemote: true };
  return tracestate === undefined ? remote : { ...remote, traceState: createTraceState(tracestate) };
}

/** The current span where it is the one that is named: it knows more of itself than its name says. */
export function currentOr(named: SpanContext | undefined): SpanContext | undefined {
  const current = trace.getActiveSpan()?.spanContext();
  return current !== undefined && current.spanId === named?.spanId && current.traceId === named.traceId
    ? current
    : named;
}

/** How others name a span; `undefined` where it is none. */
export function nameOf(span: SpanContext): string | undefined {
  return isSpanContextValid(span) ? traceparentOf(span.traceId, span.spanId, span.traceFlags) : undefined;
}

/** Below a span, or at the root of a trace. What surrounds us now is left behind: it may belong to anybody. */
export function below(span: SpanContext | undefined): Context {
  return span === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, span);
}

/** Does work in which others find the span as the current one. */
export function within<T>(span: Span, base: Context, work: () => T): T {
  return context.with(trace.setSpan(base, span), work);
}

export function fail(span: Span, errorType: string): void {
  span.setAttribute(ERROR_TYPE, errorType).setStatus({ code: SpanStatusCode.ERROR });
}
