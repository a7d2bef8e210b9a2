import { describe, expect, it } from 'vitest';
import { parseTraceparent, traceContextOf } from './traceparent.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${SPAN}-01`;
const OTHER = `00-${TRACE.replace('4', '5')}-${SPAN}-00`;

describe('the trace of a request', () => {
  it('is that of the message, before that of what carried it', () => {
    const headers: Record<string, string> = { traceparent: OTHER, tracestate: 'a=1' };
    const header = (name: string) => headers[name];
    expect(traceContextOf({ traceparent: VALID }, header)).toEqual({ traceparent: VALID, from: 'message' });
    expect(traceContextOf({}, header)).toEqual({ traceparent: OTHER, tracestate: 'a=1', from: 'carrier' });
    expect(traceContextOf({}, undefined)).toBeUndefined();
  });

  it('does not take the state of one for the parent of the other', () => {
    const header = (name: string) => (name === 'tracestate' ? 'a=1' : undefined);
    expect(traceContextOf({ traceparent: VALID }, header)).toEqual({ traceparent: VALID, from: 'message' });
  });

  it('keeps no state that is no text, or longer than must be passed on', () => {
    for (const tracestate of ['', 7, 'a'.repeat(513)]) {
      expect(traceContextOf({ traceparent: VALID, tracestate }, undefined)).toEqual({
        traceparent: VALID,
        from: 'message',
      });
    }
  });

  it.each([
    ['no text', 7],
    ['another format', 'b3-1'],
    ['capitals', VALID.toUpperCase()],
    ['no trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['no span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['the version that is none', `ff-${TRACE}-${SPAN}-01`],
    ['more than its version has', `${VALID}-x`],
    ['a line of its own behind it', `${VALID}\nx`],
  ])('is absent where it is %s', (_, traceparent) => {
    expect(traceContextOf({ traceparent }, undefined)).toBeUndefined();
  });

  it('of a later version is read as far as this one goes', () => {
    const later = `01-${TRACE}-${SPAN}-03-something`;
    expect(parseTraceparent(later)).toEqual({ traceId: TRACE, spanId: SPAN, flags: 3 });
    expect(traceContextOf({ traceparent: later }, undefined)).toMatchObject({ traceparent: VALID });
  });
});
