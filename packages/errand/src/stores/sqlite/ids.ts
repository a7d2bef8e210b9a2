import { createCipheriv, randomFillSync, timingSafeEqual } from 'node:crypto';
import type { Database } from 'better-sqlite3';

/** Where a task is, and what proves that who asks was given its id. */
export interface Place {
  readonly row: number;
  readonly nonce: Buffer;
}

const NONCE_BYTES = 16;
const ROW_BYTES = 6;
/** 22 bytes in base64url; the last character holds two bits, so that each id has one spelling. */
const SHAPE = /^[A-Za-z0-9_-]{29}[AQgw]$/;
/** Nonces that are drawn at a time: to ask the system for each would cost more than all the rest of an id. */
const POOL = 256;
/** Rows that a process takes for itself at a time: one commit for so many ids. */
const BLOCK = 1024;

/**
 * Ids of 128 random bits that carry their row number, so that tasks are found by row and need no
 * index over random text: nonce || (row XOR AES(nonce)). The number is sealed under a key that
 * never leaves the file, so ids show no order; a forged one meets another nonce.
 */
export class Ids {
  readonly #db: Database;
  readonly #mask: (nonces: Buffer) => Buffer;
  readonly #nonces = Buffer.alloc(POOL * NONCE_BYTES);
  #masks: Buffer = Buffer.alloc(0);
  #drawn = POOL;
  /** The places of the ids that were made last, which are mostly asked for soon. */
  #fresh = new Map<string, Place>();
  #lessFresh = this.#fresh;
  #next = 0;
  #end = 0;
  /** The end of the block after this one, where there is one. */
  #block: number | undefined;

  constructor(db: Database) {
    this.#db = db;
    const key = db.prepare("SELECT value FROM meta WHERE name = 'id_key'").pluck().get() as Buffer;
    // ECB over single blocks is the bare block cipher; it keeps no state, so one object serves all.
    const cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
    this.#mask = (nonces) => cipher.update(nonces);
  }

  next(): string {
    if (this.#db.inTransaction) throw new Error('an id cannot be made while a task is being decided on');
    if (this.#next === this.#end && !this.#useBlock()) this.prepare();
    if (this.#drawn === POOL) this.#draw();
    const at = this.#drawn++ * NONCE_BYTES;
    const nonce = Buffer.allocUnsafe(NONCE_BYTES);
    this.#nonces.copy(nonce, 0, at, at + NONCE_BYTES);
    const place = { row: this.#next++, nonce };
    const id = sealed(place, this.#masks, at);
    this.#remember(id, place);
    return id;
  }

  #draw(): void {
    randomFillSync(this.#nonces);
    this.#masks = this.#mask(this.#nonces);
    this.#drawn = 0;
  }

  #remember(id: string, place: Place): void {
    if (this.#fresh.size === POOL) {
      this.#lessFresh = this.#fresh;
      this.#fresh = new Map();
    }
    this.#fresh.set(id, place);
  }

  seal(place: Place): string {
    return sealed(place, this.#mask(place.nonce), 0);
  }

  /** The place that an id names, whether there is a task or not; `undefined` for any other text. */
  unseal(id: string): Place | undefined {
    const fresh = this.#fresh.get(id) ?? this.#lessFresh.get(id);
    if (fresh !== undefined) return fresh;
    if (!SHAPE.test(id)) return undefined;
    const bytes = Buffer.from(id, 'base64url');
    const nonce = bytes.subarray(0, NONCE_BYTES);
    maskRow(bytes, this.#mask(nonce), 0);
    return { row: bytes.readUIntBE(NONCE_BYTES, ROW_BYTES), nonce };
  }

  /** The row that an id of this store names. */
  rowOf(id: string): number {
    const place = this.unseal(id);
    if (place === undefined) throw new TypeError(`${id} is not an id of this store`);
    return place.row;
  }

  /** Sees to it that there are ids; throws where nothing can be written. */
  prepare(): void {
    if (this.#next === this.#end) this.use(this.reserve());
  }

  /** Whether a block should be reserved with the next commit, so that no id has to wait for one of its own. */
  get runLow(): boolean {
    return this.#block === undefined && this.#end - this.#next < BLOCK / 2;
  }

  /** Several processes share the file: what one has taken is on disk before it is used. Gives the end of the block. */
  reserve(): number {
    return this.#db
      .prepare("UPDATE meta SET value = value + ? WHERE name = 'next_row' RETURNING value")
      .pluck()
      .get(BLOCK) as number;
  }

  /** A block that is on disk. */
  use(end: number): void {
    this.#block = end;
    if (this.#next === this.#end) this.#useBlock();
  }

  #useBlock(): boolean {
    if (this.#block === undefined) return false;
    this.#end = this.#block;
    this.#next = this.#block - BLOCK;
    this.#block = undefined;
    return true;
  }
}

/** The id of a place; `masks` holds, from `at` on, what its nonce enciphers to. */
function sealed({ row, nonce }: Place, masks: Buffer, at: number): string {
  const bytes = Buffer.allocUnsafe(NONCE_BYTES + ROW_BYTES);
  nonce.copy(bytes);
  bytes.writeUIntBE(row, NONCE_BYTES, ROW_BYTES);
  maskRow(bytes, masks, at);
  return bytes.toString('base64url');
}

function maskRow(bytes: Buffer, masks: Buffer, at: number): void {
  for (let index = 0; index < ROW_BYTES; index++) bytes[NONCE_BYTES + index]! ^= masks[at + index]!;
}

/** Compares in constant time, so that an id cannot be found out piece by piece. */
export function isSameNonce(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
