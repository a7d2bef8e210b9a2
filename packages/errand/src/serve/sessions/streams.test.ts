import { describe, expect, it, vi } from 'vitest';
import type { JsonRpcNotification } from '../../jsonrpc.ts';
import type { StreamEvent } from '../exchange.ts';
import { bestOf, EventStream } from './streams.ts';

const message = (number: number): JsonRpcNotification => ({ jsonrpc: '2.0', method: 'n', params: { number } });

function setUp() {
  const onChange = vi.fn();
  const stream = new EventStream(() => 's', onChange);
  const reader = (after?: number) => {
    const gone = new AbortController();
    const events = stream.read(after, gone.signal)[Symbol.asyncIterator]();
    return {
      leave: () => gone.abort(),
      next: async (): Promise<StreamEvent | undefined> => {
        const { done, value } = await events.next();
        return done ? undefined : value;
      },
      /** All that there is, for a stream that is over. */
      async rest(): Promise<unknown[]> {
        const ids: unknown[] = [];
        for (let event = await this.next(); event !== undefined; event = await this.next()) ids.push(event.id);
        return ids;
      },
    };
  };
  return { stream, reader, onChange };
}

describe('a stream', () => {
  it('begins with an event without a message, and names each one', async () => {
    const { stream, reader } = setUp();
    stream.send(message(1));
    const { next } = reader();
    expect(await next()).toEqual({ id: 's.0' });
    expect(await next()).toEqual({ id: 's.1', message: message(1) });
    const waiting = next();
    stream.send(message(2));
    expect(await waiting).toEqual({ id: 's.2', message: message(2) });
  });

  it('is read on from any event, also once it is over', async () => {
    const { stream, reader } = setUp();
    for (const number of [1, 2, 3]) stream.send(message(number));
    stream.end(message(4));
    expect(await reader(2).rest()).toEqual(['s.3', 's.4']);
    expect(await reader(4).rest()).toEqual([]);
    expect(await reader().rest()).toEqual(['s.0', 's.1', 's.2', 's.3', 's.4']);
  });

  it('has one reader: who comes back takes the place of whoever reads', async () => {
    const { stream, reader } = setUp();
    const first = reader();
    await first.next();
    const waiting = first.next();
    const second = reader(0);
    expect(await waiting).toBeUndefined();
    stream.send(message(1));
    expect(await second.next()).toMatchObject({ id: 's.1' });
  });

  it('is open while somebody may read it, away when they have left, and done when all got there', async () => {
    const { stream, reader, onChange } = setUp();
    expect(stream.state).toBe('open');
    const first = reader();
    await first.next();
    onChange.mockClear();
    first.leave();
    expect(stream.state).toBe('away');
    expect(onChange).toHaveBeenCalledOnce();
    const second = reader(0);
    expect(stream.state).toBe('open');
    stream.end(message(1));
    expect(stream.state).toBe('lost');
    await second.rest();
    expect(stream.state).toBe('done');
  });

  it('that ends without what was waited for is lost', async () => {
    const { stream, reader } = setUp();
    const left = reader();
    stream.end();
    await left.rest();
    expect(stream.state).toBe('lost');
    expect(stream.send(message(1))()).toBe(false);
  });

  it('takes a message back only while nobody has read it', async () => {
    const { stream, reader } = setUp();
    const [one, two] = [stream.send(message(1)), stream.send(message(2))];
    const { next } = reader();
    await next();
    await next();
    expect([one(), two()]).toEqual([false, true]);
    stream.send(message(3));
    expect(await next()).toMatchObject({ id: 's.3' });
  });

  it('keeps of one topic what came last', async () => {
    const { stream, reader } = setUp();
    stream.send(message(1), 'topic');
    stream.send(message(2), 'other');
    stream.send(message(3), 'topic');
    stream.end(message(4));
    expect(await reader(0).rest()).toEqual(['s.2', 's.3', 's.4']);
  });

  it('remembers so much and no more, and is given up where its reader is further behind', async () => {
    const { stream, reader } = setUp();
    const { next } = reader();
    await next();
    for (let number = 1; number <= 1000; number++) {
      stream.send(message(number));
      await next();
    }
    expect(stream.state).toBe('open');
    for (let number = 0; number < 257; number++) stream.send(message(number));
    expect(stream.state).toBe('lost');
  });

  it('is forgotten when nobody came back, and not while it is read', async () => {
    const { stream, reader } = setUp();
    const later = () => performance.now() + 1;
    expect(stream.isForgotten(later())).toBe(false);
    const { next, leave } = reader();
    await next();
    expect(stream.isForgotten(later())).toBe(false);
    leave();
    expect(stream.isForgotten(performance.now() - 1000)).toBe(false);
    expect(stream.isForgotten(later())).toBe(true);
  });
});

it('the best way is the last that is open, else the last that may be again', () => {
  const { stream: open } = setUp();
  const { stream: newer } = setUp();
  const away = setUp();
  away.reader().leave();
  const over = setUp().stream;
  over.end();
  expect(bestOf([open, newer, away.stream, over])).toBe(newer);
  expect(bestOf([over, away.stream, undefined])).toBe(away.stream);
  expect(bestOf([over, undefined])).toBeUndefined();
});
