import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { fetchDocument } from './documents.ts';

/** A key that is not known is asked for at most this often, in ms: anybody can make up names of keys. */
const NEW_KEY_EVERY = 30_000;
/** How soon an issuer is asked again that has never answered, in ms. */
const FIRST_KEYS_EVERY = 1000;
/** Keys are asked for anew when they are this old, in ms, so that those that were taken back go out of use. */
const MAX_AGE = 600_000;
/** A token that names no key is tried with each that fits. */
const MAX_KEYS = 100;

/**
 * The keys of an issuer, whose URL `find` looks for. What is known stays in use, and makes nobody wait, while the
 * issuer does not answer. Rejects with jose's `JWKSNoMatchingKey` for a key that the issuer does not have, and with
 * another error where nobody can tell.
 */
export function remoteKeys(find: () => Promise<URL>): JWTVerifyGetKey {
  let url: URL | undefined;
  let keys: JWTVerifyGetKey | undefined;
  let heardAt = 0;
  let askedAt: number | undefined;
  let failure: Error | undefined;
  let asking: Promise<void> | undefined;

  /** Many who ask at once are one question; who asks too often gets the answer that there was. */
  function ask(every: number): Promise<void> {
    if (asking !== undefined) return asking;
    if (askedAt !== undefined && since(askedAt) < every) return Promise.resolve();
    askedAt = Date.now();
    return (asking = hear().finally(() => (asking = undefined)));
  }

  async function hear(): Promise<void> {
    try {
      url ??= await find();
      keys = await keysAt(url);
      heardAt = Date.now();
      failure = undefined;
    } catch (cause) {
      url = undefined; // they may have moved
      failure = new Error('the keys of the issuer cannot be had', { cause });
    }
  }

  return async (header, token) => {
    if (keys === undefined) await ask(FIRST_KEYS_EVERY);
    else if (since(heardAt) > MAX_AGE) void ask(NEW_KEY_EVERY);
    if (keys === undefined) throw failure!;
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await ask(NEW_KEY_EVERY);
      // The key might be a new one.
      if (failure !== undefined) throw failure;
      return keys(header, token);
    }
  };
}

async function keysAt(url: URL): Promise<JWTVerifyGetKey> {
  const response = await fetchDocument(url, { headers: { accept: 'application/json, application/jwk-set+json' } });
  if (response.status !== 200) throw new Error(`${url.href} answers with HTTP status ${response.status}`);
  const set = (await response.json()) as JSONWebKeySet;
  const keys = createLocalJWKSet(set);
  if (set.keys.length > MAX_KEYS) throw new Error(`${url.href} names more than ${MAX_KEYS} keys`);
  return keys;
}

/** How long ago something was, in ms; a clock that was set back makes it long ago. */
function since(time: number): number {
  return Math.abs(Date.now() - time);
}
