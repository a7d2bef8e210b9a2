import { beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../store.ts';
import { create, newTask, type Subject } from './subject.suite.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

export function ids(subject: Subject): void {
  describe('ids', () => {
    let store: Store;
    beforeEach(() => {
      store = subject.store;
    });

    // CASES 5
    test('100,000 ids: 128 random bits each, no order, no repeat, safe in a header', { timeout: 30_000 }, () => {
      const ids = Array.from({ length: 100_000 }, () => store.newId());
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.every((id) => /^[A-Za-z0-9_-]{22,64}$/.test(id))).toBe(true);
      // In random order half of all neighbours rise: 50,000, give or take 8 standard deviations.
      const rising = ids.filter((id, index) => index > 0 && id > ids[index - 1]!).length;
      expect(Math.abs(rising - ids.length / 2)).toBeLessThan(1300);
      // Each bit is set in half of them: the first 128 are random, whatever follows is sealed.
      const bits = new Array<number>(Buffer.from(ids[0]!, 'base64url').length * 8).fill(0);
      for (const id of ids) {
        const bytes = Buffer.from(id, 'base64url');
        for (let bit = 0; bit < bits.length; bit++) bits[bit]! += (bytes[bit >> 3]! >> (bit & 7)) & 1;
      }
      expect(bits.length).toBeGreaterThanOrEqual(128);
      for (const set of bits) expect(Math.abs(set - ids.length / 2)).toBeLessThan(1300);
    });

    test('unknown and malformed ids read as unknown, and never throw', async () => {
      const known = (await create(store, newTask(store))).id;
      const flipped = known.slice(0, -2) + (known.at(-2) === 'A' ? 'B' : 'A') + known.slice(-1);
      const strange = [
        '',
        ' ',
        known.slice(1),
        `${known}A`,
        `${known}=`,
        `${known} `,
        flipped,
        '💥',
        'a\u0000b',
        '../..',
      ];
      const texts = [...strange, 'x'.repeat(100_000), store.newId(), known.toLowerCase(), null, 7, {}];
      for (const id of texts as string[]) {
        expect(await store.read(id)).toBeUndefined();
        expect(await store.journal(id)).toEqual([]);
        expect(await store.change(id, () => expect.fail('there is nothing to decide on'))).toBeUndefined();
      }
    });

    test('no character of an id can be changed without losing the task', async () => {
      const { id } = await create(store, newTask(store));
      for (let index = 0; index < id.length; index++) {
        for (const other of ALPHABET.replace(id[index]!, '')) {
          expect(await store.read(id.slice(0, index) + other + id.slice(index + 1))).toBeUndefined();
        }
      }
    });
  });
}
