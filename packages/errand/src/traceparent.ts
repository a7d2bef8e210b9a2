/** Where a request stands in a trace of its sender (W3C Trace Context). */
export interface TraceContext {
  /** Valid, in the form of version 00. */
  readonly traceparent: string;
  readonly tracestate?: string;
  /** What carried it: the message itself, or the HTTP request around it, whose own span may know it already. */
  readonly from: 'message' | 'carrier';
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The parts of a `traceparent`; `undefined` where it is none. Of a later version, those that this one has too. */
export function parseTraceparent(
  text: string,
): { readonly traceId: string; readonly spanId: string; readonly flags: number } | undefined {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined;
  return { traceId: traceId!, spanId: spanId!, flags: parseInt(flags!, 16) };
}

/** More than anybody must pass on. */
const LONGEST_STATE = 512;

/**
 * Reads the trace of a request: what `_meta` says in the names that MCP reserves for it, else what the
 * headers say. What is malformed counts as absent, since nobody's request fails for its trace.
 */
export function traceContextOf(
  meta: Readonly<Record<string, unknown>>,
  header: ((name: string) => string | undefined) | undefined,
): TraceContext | undefined {
  return (
    contextOf(meta['traceparent'], meta['tracestate'], 'message') ??
    (header && contextOf(header('traceparent'), header('tracestate'), 'carrier'))
  );
}

function contextOf(parent: unknown, state: unknown, from: TraceContext['from']): TraceContext | undefined {
  if (typeof parent !== 'string') return undefined;
  const parts = parseTraceparent(parent);
  if (parts === undefined) return undefined;
  const traceparent = traceparentOf(parts.traceId, parts.spanId, parts.flags);
  const keepsState = typeof state === 'string' && state !== '' && state.length <= LONGEST_STATE;
  return keepsState ? { traceparent, tracestate: state, from } : { traceparent, from };
}

/** The only flag that version 00 defines is whether the trace is sampled. */
export function traceparentOf(traceId: string, spanId: string, flags: number): string {
  return `00-${traceId}-${spanId}-0${flags & 1}`;
}
