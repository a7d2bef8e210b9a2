import fc from 'fast-check';

/** Changes to the bytes of a body or a line. `at` is a place in 1/1000 of the length. */
export type ByteEdit =
  | { readonly op: 'flip'; readonly at: number; readonly bit: number }
  | { readonly op: 'insert'; readonly at: number; readonly hex: string }
  | { readonly op: 'cut'; readonly at: number; readonly length: number }
  | { readonly op: 'double'; readonly at: number; readonly length: number }
  | { readonly op: 'end'; readonly at: number };

const at = fc.nat(1000);
const length = fc.integer({ min: 1, max: 40 });

/** No UTF-8: a lone continuation, overlong spellings, an encoded surrogate, beyond Unicode. Then a BOM, NUL, controls. */
const SEQUENCES = ['80', 'c0af', 'e080af', 'eda080', 'f5808080', 'ff', 'efbbbf', '00', '0a', '0d0a', '1b', 'e280ae'];

export const byteEdits: fc.Arbitrary<ByteEdit> = fc.oneof(
  fc.record({ op: fc.constant('flip'), at, bit: fc.nat(7) }),
  fc.record({
    op: fc.constant('insert'),
    at: fc.oneof(at, fc.constantFrom(0, 1000)),
    hex: fc.constantFrom(...SEQUENCES),
  }),
  fc.record({ op: fc.constant('cut'), at, length }),
  fc.record({ op: fc.constant('double'), at, length }),
  fc.record({ op: fc.constant('end'), at }),
);

export function withByteEdits(bytes: Buffer, changes: readonly ByteEdit[]): Buffer {
  return changes.reduce(withByteEdit, bytes);
}

function withByteEdit(bytes: Buffer, edit: ByteEdit): Buffer {
  const place = Math.floor((edit.at / 1000) * bytes.length);
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
  switch (edit.op) {
    case 'flip': {
      const flipped = Buffer.from(bytes);
      if (place < flipped.length) flipped[place]! ^= 1 << edit.bit;
      return flipped;
    }
    case 'insert':
      return Buffer.concat([before, Buffer.from(edit.hex, 'hex'), after]);
    case 'cut':
      return Buffer.concat([before, after.subarray(edit.length)]);
    case 'double':
      return Buffer.concat([before, after.subarray(0, edit.length), after]);
    case 'end':
      return before;
  }
}
