import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from './json.ts';
import { createSeal } from './seal.ts';

const SECRET = randomBytes(32);
const seal = createSeal(SECRET, 'test');

describe('a sealed value', () => {
  it('opens to what was sealed, in the same context', () => {
    fc.assert(
      fc.property(fc.jsonValue() as fc.Arbitrary<JsonValue>, fc.string(), (value, context) => {
        const opened = seal.open(seal.seal(value, context), context);
        expect(opened).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('opens also in another process that has the secret', () => {
    expect(createSeal(Uint8Array.from(SECRET), 'test').open(seal.seal({ a: 1 }, 'c'), 'c')).toEqual({ a: 1 });
  });

  it('is text that travels anywhere, shows nothing of the value, and is never the same twice', () => {
    const text = seal.seal({ secret: 'hunter2' }, 'c');
    expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(Buffer.from(text, 'base64url').toString('latin1')).not.toContain('hunter2');
    expect(seal.seal({ secret: 'hunter2' }, 'c')).not.toBe(text);
  });

  it('does not open in another context, for another purpose, or with another secret', () => {
    const text = seal.seal(true, 'mine');
    expect(seal.open(text, 'theirs')).toBeUndefined();
    expect(createSeal(SECRET, 'another use').open(text, 'mine')).toBeUndefined();
    expect(createSeal(randomBytes(32), 'test').open(text, 'mine')).toBeUndefined();
  });

  it('does not open when any of its characters was changed, or it was cut or lengthened', () => {
    const text = seal.seal({ a: 'value' }, 'c');
    for (let at = 0; at < text.length; at++) {
      const other = text[at] === 'A' ? 'B' : 'A';
      expect(seal.open(text.slice(0, at) + other + text.slice(at + 1), 'c')).toBeUndefined();
      expect(seal.open(text.slice(0, at), 'c')).toBeUndefined();
    }
    for (const more of ['A', '=', '\n', ' ']) expect(seal.open(text + more, 'c')).toBeUndefined();
  });

  it('does not open from what never was one', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(seal.open(text, 'c')).toBeUndefined();
      }),
    );
  });
});
