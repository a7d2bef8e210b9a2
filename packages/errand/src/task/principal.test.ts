import { expect, it } from 'vitest';
import { ANONYMOUS, LOCAL, principalKey, principalOf, type Principal } from './principal.ts';

const user = (parts: Partial<Extract<Principal, { kind: 'user' }>>): Principal => ({
  kind: 'user',
  issuer: 'i',
  ...parts,
});

// Each differs from every other in who it is.
const DIFFERENT: Principal[] = [
  LOCAL,
  ANONYMOUS,
  user({ subject: 'a' }),
  user({ subject: 'b' }),
  user({ subject: 'A' }),
  user({ subject: 'a ' }),
  user({ subject: 'a', issuer: 'j' }),
  user({ subject: 'a', issuer: '' }),
  user({ subject: 'a', tenant: 't' }),
  user({ subject: 't', tenant: 'a' }),
  user({ subject: 'a', tenant: '' }),
  user({ subject: 'a', tenant: 'null' }),
  user({ subject: 'null' }),
  user({ subject: '' }),
  user({ client: 'a' }),
  user({ client: 'a', tenant: 't' }),
  user({ client: '' }),
  user({}),
  user({ subject: 'a","b' }),
  user({ subject: 'b', tenant: 'a","' }),
  user({ subject: 'anonymous', issuer: 'local' }),
  user({ subject: '\u00e9' }),
  user({ subject: 'e\u0301' }),
];

it('unequal principals have unequal keys', () => {
  expect(new Set(DIFFERENT.map(principalKey)).size).toBe(DIFFERENT.length);
});

it('a key gives back the principal that it was made of', () => {
  for (const principal of DIFFERENT) expect(principalOf(principalKey(principal))).toEqual(principal);
});

it('a subject is the same through every client, which its key leaves out', () => {
  const key = principalKey(user({ subject: 'a', client: 'web' }));
  expect(key).toBe(principalKey(user({ subject: 'a', client: 'phone' })));
  expect(principalOf(key)).toEqual(user({ subject: 'a' }));
});
