import fc from 'fast-check';
import { isObject } from '../../src/json.ts';

/*
 * Changes to a message as a JSON value. Places are numbers, taken modulo how many there are, so that an edit fits any
 * message and fast-check can make it smaller.
 */

/** JSON text that goes in as it is: what `JSON.stringify` would not write. */
export interface RawJson {
  readonly raw: string;
}

export type Edit =
  | { readonly op: 'remove'; readonly place: number }
  | { readonly op: 'replace'; readonly place: number; readonly value: unknown }
  | { readonly op: 'rename'; readonly place: number; readonly key: string }
  | { readonly op: 'wrap'; readonly place: number }
  | { readonly op: 'add'; readonly place: number; readonly key: string; readonly value: unknown };

const nested = (open: string, inside: string, close: string) => (depth: number) => ({
  raw: open.repeat(depth) + inside + close.repeat(depth),
});
const depth = fc.constantFrom(3, 100, 250, 20_000);

const oddText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    '\ufeff',
    '\ud800',
    'a\udfffb',
    '\u202egnp.exe',
    '\u2028\u2029',
    'e\u0301\u0301',
    '👩‍👩‍👧‍👧',
    '\r\n\t',
    '__proto__',
    'constructor',
    'toString',
    '../..',
    '=?base64?4pyT?=',
    '=?base64?/w==?=',
    '2026-07-28',
    '2025-11-25',
    'io.modelcontextprotocol/tasks',
    'notifications/cancelled',
    'initialize',
    'tasks/list',
  ),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(1000, 65_536, 300_000).map((length) => 'x'.repeat(length)),
);

const rawJson: fc.Arbitrary<RawJson> = fc.oneof(
  fc
    .constantFrom('1e400', '-1e400', '1E-400', '-0', '01', '+1', '.5', 'NaN', 'Infinity', 'undefined', "'x'", '0x10')
    .map((raw) => ({ raw })),
  fc
    .constantFrom(
      '"\\ud800"',
      '"\\x41"',
      '"\\u12"',
      '"\u0007"',
      '"\n"',
      '{"a":1,"a":2}',
      '{"__proto__":{"x":1}}',
      '[,]',
      '{,}',
    )
    .map((raw) => ({ raw })),
  depth.map(nested('[', '', ']')),
  depth.map(nested('{"a":', '1', '}')),
);

const value: fc.Arbitrary<unknown> = fc.oneof(
  oddText,
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 2 ** 53, 1e308, [], {}, [[]], [null]),
  fc.jsonValue({ maxDepth: 2 }),
  rawJson,
);

const place = fc.nat(1000);
const key = fc.oneof(oddText, fc.constantFrom('id', 'method', 'params', '_meta', 'task', 'name', 'taskId', 'cursor'));

export const edits: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ op: fc.constant('remove'), place }),
  fc.record({ op: fc.constant('replace'), place, value }),
  fc.record({ op: fc.constant('rename'), place, key }),
  fc.record({ op: fc.constant('wrap'), place }),
  fc.record({ op: fc.constant('add'), place, key, value }),
);

/** The JSON text of a message after edits. */
export function edited(message: unknown, changes: readonly Edit[]): string {
  const raws: string[] = [];
  const holder = { message: structuredClone(message) };
  for (const change of changes) apply(holder, change, raws);
  return (JSON.stringify(holder.message) ?? '').replace(
    /"raw-json-(\d+)"/g,
    (_, index: string) => raws[Number(index)]!,
  );
}

type Parent = Record<string, unknown>;

function apply(holder: Parent, edit: Edit, raws: string[]): void {
  const places = [...placesIn(holder)];
  const chosen = places[edit.place % Math.max(1, places.length)];
  if (chosen === undefined) return;
  const [parent, at] = chosen;
  const written = (value: unknown): unknown => {
    // A later edit may change what this one put in, and the case must stay as it is.
    if (!isObject(value) || typeof value['raw'] !== 'string') return structuredClone(value);
    return `raw-json-${raws.push(value['raw']) - 1}`;
  };
  switch (edit.op) {
    case 'remove':
      if (Array.isArray(parent)) parent.splice(Number(at), 1);
      else if (parent !== holder) delete parent[at];
      break;
    case 'replace':
      parent[at] = written(edit.value);
      break;
    case 'wrap':
      parent[at] = [parent[at]];
      break;
    case 'rename': {
      if (Array.isArray(parent) || parent === holder) break;
      const moved = parent[at];
      delete parent[at];
      put(parent, edit.key, moved);
      break;
    }
    case 'add': {
      const target = parent[at];
      if (isObject(target)) put(target, edit.key, written(edit.value));
      else if (Array.isArray(target)) target.push(written(edit.value));
    }
  }
}

/** Sets a member, also one named `__proto__`. */
function put(target: Parent, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Every place in a value, the whole of it first. */
function* placesIn(parent: Parent): Generator<[parent: Parent, at: string]> {
  for (const at of Object.keys(parent)) {
    yield [parent, at];
    const child = parent[at];
    if (typeof child === 'object' && child !== null) yield* placesIn(child as Parent);
  }
}
