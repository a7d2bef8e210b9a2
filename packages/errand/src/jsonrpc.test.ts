import { describe, expect, it } from 'vitest';
import { ErrandError } from './errors.ts';
import { asMessage, errorResponse, isRequest, parseMessage, readableId } from './jsonrpc.ts';

const REQUEST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

describe('parseMessage', () => {
  it('refuses what is not JSON with -32700', () => {
    for (const text of ['', '{', 'hello', '{"a":1}{"b":2}', '\ufeff{}']) {
      expect(() => parseMessage(text)).toThrow(expect.objectContaining({ code: -32700 }));
    }
  });

  it('refuses nesting that would exhaust the stack of whoever walks it', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(() => parseMessage(nested(100_000))).toThrow(expect.objectContaining({ code: -32600 }));
    expect(() => parseMessage(nested(201))).toThrow(expect.objectContaining({ code: -32600 }));
    expect(parseMessage(nested(200))).toBeInstanceOf(Array);
  });

  it('takes brackets inside of texts for what they are', () => {
    const text = `\\"${'['.repeat(1000)}`;
    expect(parseMessage(`{"a":"${text}"}`)).toEqual({ a: `"${'['.repeat(1000)}` });
  });
});

describe('asMessage', () => {
  it('takes requests and notifications', () => {
    expect(isRequest(asMessage(REQUEST))).toBe(true);
    expect(isRequest(asMessage({ jsonrpc: '2.0', method: 'notifications/cancelled' }))).toBe(false);
  });

  it.each([
    ['a batch', [REQUEST]],
    ['an empty batch', []],
    ['null', null],
    ['a text', 'tools/list'],
    ['no jsonrpc', { id: 1, method: 'tools/list' }],
    ['another jsonrpc', { ...REQUEST, jsonrpc: '1.0' }],
    ['a null id', { ...REQUEST, id: null }],
    ['an id that JSON numbers cannot hold', JSON.parse('{"jsonrpc":"2.0","id":9007199254740993,"method":"x"}')],
    ['a fractional id', { ...REQUEST, id: 1.5 }],
    ['an object for an id', { ...REQUEST, id: {} }],
    ['no method', { jsonrpc: '2.0', id: 1 }],
    ['a number for a method', { ...REQUEST, method: 7 }],
    ['an array of params', { ...REQUEST, params: [] }],
    ['null params', { ...REQUEST, params: null }],
    ['a result', { jsonrpc: '2.0', id: 1, result: {} }],
    ['an error', { jsonrpc: '2.0', id: 1, error: { code: 1, message: '' } }],
  ])('refuses %s with -32600', (_, value) => {
    expect(() => asMessage(value)).toThrow(expect.objectContaining({ code: -32600, status: 400 }));
  });
});

describe('errorResponse', () => {
  it('goes out under the id of a broken request, as long as that can be read', () => {
    expect(readableId({ id: 'a', method: 7 })).toBe('a');
    expect(readableId({ id: 0, method: 'x' })).toBe(0);
    expect(readableId({ id: null, method: 'x' })).toBeUndefined();
    expect(readableId({ id: 4, result: {} })).toBeUndefined();
    expect(readableId([{ id: 4, method: 'x' }])).toBeUndefined();
  });

  it('goes out under the id of a message that nests too deeply to be looked at, too', () => {
    const deep = `{"jsonrpc":"2.0","id":7,"method":"x","params":${'['.repeat(300)}${']'.repeat(300)}}`;
    const refused = (() => {
      try {
        return parseMessage(deep);
      } catch (error) {
        return error;
      }
    })();
    expect(errorResponse(undefined, refused as ErrandError)).toMatchObject({ id: 7, error: { code: -32600 } });
  });

  it('has no id where none could be read, and no data where there is none', () => {
    const error = errorResponse(undefined, new ErrandError('parse', 'Parse error'));
    expect(error).toEqual({ jsonrpc: '2.0', error: { code: -32700, message: 'Parse error' } });
    expect('id' in error).toBe(false);
  });
});
