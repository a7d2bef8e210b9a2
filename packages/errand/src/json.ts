/** What JSON can carry: the only data that crosses the wire, the journal and the store. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A JSON object. */
export type JsonObject = { [key: string]: JsonValue };

/** What is left of a type when its values are written down as JSON and read again. */
export type Jsonified<T> = unknown extends T
  ? T
  : [T] extends [JsonValue] // as it is; `JsonValue` itself would never come to an end
    ? T
    : T extends string | number | boolean | null
      ? T
      : T extends undefined | void
        ? null
        : T extends { toJSON(): infer R }
          ? Jsonified<R>
          : T extends readonly unknown[]
            ? { [K in keyof T]: Jsonified<T[K]> }
            : T extends object
              ? { [K in keyof T]: JsonifiedMember<T[K]> }
              : never;

/** A member that is `undefined` is left out. */
type JsonifiedMember<T> = T extends undefined ? undefined : Jsonified<T>;

/** Deeper values are refused: whoever walks them recursively would run out of stack. */
export const MAX_DEPTH = 200;

/** Whether a value is a plain object, as opposed to an array, `null` or a primitive. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The JSON copy of a value: what comes back after it was written down and read again.
 * `undefined` becomes `null`, and is left out of objects. Throws a `TypeError` that names `what`
 * and the place in it where something is no JSON, instead of losing it without a word, or nests too deeply.
 */
export function jsonCopy(value: unknown, what: string): JsonValue {
  return copy(value, what, '', new Set());
}

/** The text of a JSON value, equal for equal values: object keys are sorted. */
export function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key]!)}`);
  return `{${members.join(',')}}`;
}

/** `isJson`: it came from a `toJSON`, which JSON asks only once. */
function copy(value: unknown, what: string, path: string, above: Set<object>, isJson = false): JsonValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return Object.is(value, -0) ? 0 : value;
  if (typeof value !== 'object') throw notJson(value, what, path);
  if (above.size === MAX_DEPTH) throw new TypeError(`${what} nests more than ${MAX_DEPTH} deep`);
  if (above.has(value)) throw new TypeError(`${what}: ${path || 'the value'} contains itself, so it is no JSON`);
  above.add(value);
  try {
    const json = !isJson && hasToJson(value) ? value.toJSON() : value;
    if (json !== value) return copy(json, what, path, above, true);
    if (Array.isArray(value)) return Array.from(value, (item, index) => copy(item, what, `${path}[${index}]`, above));
    if (hidesItself(value)) throw notJson(value, what, path);
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, member]) => member !== undefined)
        .map(([key, member]) => [key, copy(member, what, path === '' ? key : `${path}.${key}`, above)]),
    );
  } finally {
    above.delete(value);
  }
}

/** Whether the members of an object say nothing, or not all, of what it is: an `Error`, a `Map`, bytes. */
function hidesItself(value: object): boolean {
  if (value instanceof Error || ArrayBuffer.isView(value)) return true;
  const prototype = Object.getPrototypeOf(value) as object | null;
  const plain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return !plain && Object.keys(value).length === 0;
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function notJson(value: unknown, what: string, path: string): TypeError {
  const kind =
    typeof value === 'object'
      ? `a ${value!.constructor.name}`
      : typeof value === 'number'
        ? value
        : `a ${typeof value}`;
  return new TypeError(`${what}: ${path || 'the value'} is ${kind}, which is no JSON`);
}
