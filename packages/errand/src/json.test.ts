import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonical, isObject, jsonCopy, type JsonValue } from './json.ts';

const json = fc.jsonValue() as fc.Arbitrary<JsonValue>;

describe('the JSON copy of a value', () => {
  it('is what comes back after it was written down and read again', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(jsonCopy(value, 'it')).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('shares nothing with the value', () => {
    const value = { list: [{ a: 1 }] };
    const copied = jsonCopy(value, 'it') as typeof value;
    expect(copied).toEqual(value);
    expect(copied.list).not.toBe(value.list);
    expect(copied.list[0]).not.toBe(value.list[0]);
  });

  it('has null for undefined, and leaves it out of objects', () => {
    expect(jsonCopy(undefined, 'it')).toBe(null);
    expect(jsonCopy([undefined, 1], 'it')).toEqual([null, 1]);
    expect(Object.keys(jsonCopy({ a: undefined, b: 1 }, 'it') as object)).toEqual(['b']);
    // eslint-disable-next-line no-sparse-arrays
    expect(jsonCopy([, 1], 'it')).toStrictEqual([null, 1]);
  });

  it('has no negative zero, which JSON cannot write', () => {
    expect(Object.is(jsonCopy(-0, 'it'), 0)).toBe(true);
  });

  it('asks a toJSON, once', () => {
    expect(jsonCopy(new Date(0), 'it')).toBe('1970-01-01T00:00:00.000Z');
    const own = { a: 1, toJSON: () => ({ ...own, a: 2, toJSON: undefined }) };
    expect(jsonCopy(own, 'it')).toEqual({ a: 2 });
    expect(jsonCopy({ toJSON: () => ({ toJSON: 'a member like any other' }) }, 'it')).toEqual({
      toJSON: 'a member like any other',
    });
    const itself = { a: 1, toJSON: (): unknown => itself };
    expect(() => jsonCopy(itself, 'it')).toThrow('it: toJSON is a function, which is no JSON');
  });

  it('keeps the members of an instance, and a member named __proto__', () => {
    class Point {
      readonly x = 1;
    }
    expect(jsonCopy(new Point(), 'it')).toStrictEqual({ x: 1 });
    const text = '{"__proto__":{"polluted":true}}';
    const copied = jsonCopy(JSON.parse(text), 'it');
    expect(JSON.stringify(copied)).toBe(text);
    expect((copied as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('takes the same object twice, but not an object within itself', () => {
    const shared = { a: 1 };
    expect(jsonCopy({ x: shared, y: [shared] }, 'it')).toEqual({ x: { a: 1 }, y: [{ a: 1 }] });
    const round: Record<string, unknown> = { a: {} };
    (round['a'] as Record<string, unknown>)['b'] = round;
    expect(() => jsonCopy(round, 'step "x"')).toThrow('step "x": a.b contains itself');
    const endless = { toJSON: () => ({ again: endless }) };
    expect(() => jsonCopy(endless, 'it')).toThrow('it: again contains itself');
  });

  it.each([
    ['a function', () => 1, 'a function'],
    ['a symbol', Symbol('s'), 'a symbol'],
    ['a bigint', 1n, 'a bigint'],
    ['NaN', NaN, 'NaN'],
    ['Infinity', Infinity, 'Infinity'],
    ['a Map', new Map([[1, 2]]), 'a Map'],
    ['a Set', new Set([1]), 'a Set'],
    ['a Promise', Promise.resolve(1), 'a Promise'],
    ['bytes', new Uint8Array(2), 'a Uint8Array'],
    ['a buffer of bytes', new ArrayBuffer(2), 'a ArrayBuffer'],
    ['a RegExp', /x/, 'a RegExp'],
    ['an Error', new TypeError('lost'), 'a TypeError'],
    ['an Error with members', Object.assign(new Error('lost'), { code: 1 }), 'a Error'],
  ])('refuses %s, and names where it is, instead of losing it without a word', (_, value, kind) => {
    expect(() => jsonCopy(value, 'step "x"')).toThrow(
      new TypeError(`step "x": the value is ${kind}, which is no JSON`),
    );
    expect(() => jsonCopy({ a: [0, { b: value }] }, 'step "x"')).toThrow(`step "x": a[1].b is ${kind}`);
  });
});

describe('the canonical text of a value', () => {
  it('is JSON of the value', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonical(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('does not depend on the order of members', () => {
    const members = fc.uniqueArray(fc.tuple(fc.string(), json), { selector: ([key]) => key });
    fc.assert(
      fc.property(members, fc.nat(), (entries, turn) => {
        const at = entries.length === 0 ? 0 : turn % entries.length;
        const turned = [...entries.slice(at), ...entries.slice(0, at)];
        expect(canonical(Object.fromEntries(turned))).toBe(canonical(Object.fromEntries(entries)));
      }),
    );
  });

  it('is the same exactly where the values are', () => {
    const atom = fc.constantFrom<JsonValue>(null, true, 0, 1, '', '0');
    // Few values, so that some are the same.
    const few = fc.oneof(atom, fc.array(atom, { maxLength: 2 }), fc.dictionary(fc.constantFrom('a', 'b'), atom));
    fc.assert(
      fc.property(few, few, (a, b) => {
        expect(canonical(a) === canonical(b)).toBe(isDeepStrictEqual(jsonCopy(a, 'a'), jsonCopy(b, 'b')));
      }),
    );
  });
});

describe('an object', () => {
  it('is neither a list, nor null, nor a primitive', () => {
    expect([{}, new Date(), [], null, 'x', 1, undefined].map(isObject)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});
