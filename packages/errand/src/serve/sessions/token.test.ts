import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Terms } from '../../dialect.ts';
import type { Principal } from '../../task/principal.ts';
import { createTokens } from './token.ts';

const terms: Terms = {
  version: '2025-11-25',
  revision: '2025-11-25',
  client: { name: 'test', version: '1' },
  capabilities: { elicitation: { form: true, url: false }, roots: true },
  hosts: { sampling: true },
};
const ann: Principal = { kind: 'user', issuer: 'i', subject: 'ann' };
const bob: Principal = { kind: 'user', issuer: 'i', subject: 'bob' };
const secret = randomBytes(32);

describe('the id of a session', () => {
  it('says to any server of the same secret what was agreed on', () => {
    const { id, opened } = createTokens(secret, 1000, () => 5).mint(ann, terms);
    expect(createTokens(secret, 1000, () => 6).open(ann, id)).toEqual(opened);
    expect(opened).toMatchObject({ terms, issuedAt: 5 });
  });

  it('is safe in a header, short, and tells nobody else anything', () => {
    const { id } = createTokens(secret, 1000, Date.now).mint(ann, terms);
    expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(id.length).toBeLessThan(1000);
    expect(Buffer.from(id, 'base64url').toString('latin1')).not.toContain('2025');
  });

  it('is good for nobody else, nowhere else, not for ever, and not when it was changed', () => {
    let now = 0;
    const tokens = createTokens(secret, 1000, () => now);
    const { id } = tokens.mint(ann, terms);
    expect(tokens.open(bob, id)).toBeUndefined();
    expect(createTokens(randomBytes(32), 1000, () => now).open(ann, id)).toBeUndefined();
    expect(tokens.open(ann, `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`)).toBeUndefined();
    now = 999;
    expect(tokens.open(ann, id)).toBeDefined();
    now = 1000;
    expect(tokens.open(ann, id)).toBeUndefined();
  });

  it('is another one for each session', () => {
    const tokens = createTokens(secret, 1000, Date.now);
    const [one, other] = [tokens.mint(ann, terms), tokens.mint(ann, terms)];
    expect(one.id).not.toBe(other.id);
    expect(one.opened.key).not.toBe(other.opened.key);
  });
});

it('a stream is gone on with in its own session only, and a list by its own principal', () => {
  const tokens = createTokens(secret, 1000, Date.now);
  const purpose = { kind: 'task', method: 'tasks/result', taskId: 't', request: 7 } as const;
  const stream = tokens.stream('one', purpose);
  expect(tokens.openStream('one', stream)).toMatchObject(purpose);
  expect(tokens.openStream('other', stream)).toBeUndefined();
  expect(tokens.stream('one', purpose)).not.toBe(stream);
  const cursor = tokens.cursor(ann, 'task-1');
  expect(tokens.openCursor(ann, cursor)).toBe('task-1');
  expect(tokens.openCursor(bob, cursor)).toBeUndefined();
  // What was sealed for one use is of no use for another.
  expect(tokens.openCursor(ann, tokens.mint(ann, terms).id)).toBeUndefined();
});
