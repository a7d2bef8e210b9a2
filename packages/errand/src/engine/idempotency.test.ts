import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../json.ts';
import { ANONYMOUS, LOCAL, type Principal } from '../task/principal.ts';
import { idempotencyOf, seedOf } from './idempotency.ts';

const user = (subject: string): Principal => ({ kind: 'user', issuer: 'i', subject });
const of = (key: string, args: JsonObject = {}, principal: Principal = LOCAL) =>
  idempotencyOf(key, { tool: 'work', arguments: args, takesTasks: true, capabilities: {} }, principal);

describe('what a task keeps of the key of its call', () => {
  it('tells other arguments apart, and not the same ones in another order', () => {
    expect(of('k', { a: 1, b: { c: [1, 2] } })).toEqual(of('k', { b: { c: [1, 2] }, a: 1 }));
    expect(of('k', { a: 1 }).digest).not.toBe(of('k', { a: 2 }).digest);
    expect(of('k', { a: [1, 2] }).digest).not.toBe(of('k', { a: [2, 1] }).digest);
  });

  it('is refused where the key is empty, or too long to keep', () => {
    expect(of('x'.repeat(256)).key).toHaveLength(256);
    for (const key of ['', 'x'.repeat(257)]) expect(() => of(key)).toThrow('1 to 256 characters');
  });

  it('is refused to anonymous callers where others could guess the key', () => {
    expect(() => of('x'.repeat(31), {}, ANONYMOUS)).toThrow('32 characters or more');
    expect(of('x'.repeat(32), {}, ANONYMOUS).key).toHaveLength(32);
    expect(of('1', {}, user('ada')).key).toBe('1');
  });
});

describe('the seed of a task', () => {
  it('is the same for the same key, tool and principal, and no other', () => {
    const seeds = [
      seedOf('k', 'work', user('ada')),
      seedOf('k', 'work', user('bob')),
      seedOf('k', 'other', user('ada')),
      seedOf('l', 'work', user('ada')),
    ];
    expect(new Set(seeds).size).toBe(4);
    expect(seedOf('k', 'work', user('ada'))).toBe(seeds[0]);
  });
});
