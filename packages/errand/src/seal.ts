import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { JsonValue } from './json.ts';

/** Seals JSON so that a client can carry it and neither read nor change it. */
export interface Seal {
  /** Seals a value as base64url text. `context` must be the same when it is opened. */
  seal(value: JsonValue, context: string): string;
  /** The sealed value, or `undefined` where the text is not ours, was changed, or is of another context. */
  open(text: string, context: string): JsonValue | undefined;
}

const ALGORITHM = 'aes-256-gcm';
const NONCE = 12;
const TAG = 16;

/** A seal under a key derived from `secret` (AES-256-GCM, HKDF-SHA256). `purpose` keeps uses of one secret apart. */
export function createSeal(secret: Uint8Array, purpose: string): Seal {
  const key = Buffer.from(hkdfSync('sha256', secret, '', `errand ${purpose}`, 32));
  return {
    seal(value, context) {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url');
    },
    open(text, context) {
      const bytes = Buffer.from(text, 'base64url');
      if (bytes.length <= NONCE + TAG || bytes.toString('base64url') !== text) return undefined;
      try {
        const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE), { authTagLength: TAG })
          .setAAD(Buffer.from(context))
          .setAuthTag(bytes.subarray(-TAG));
        const body = Buffer.concat([decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final()]);
        return JSON.parse(body.toString('utf8')) as JsonValue;
      } catch {
        return undefined;
      }
    },
  };
}
