import { isObject } from './json.ts';

/** Refuses what are no options, and options that nobody knows. Throws a `TypeError` that names `what`, and those there are. */
export function knownOptions(what: string, options: unknown, known: readonly string[]): void {
  if (!isObject(options)) throw new TypeError(`${what}: the options are ${show(options)}; they must be an object`);
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${what}: option "${unknown}" is unknown; there are ${known.join(', ')}`);
}

/** Refuses a value that is none of the choices. */
export function choose(what: string, option: string, value: unknown, choices: readonly string[]): void {
  if (choices.includes(value as string)) return;
  throw new TypeError(`${what}: ${option} is ${show(value)}; it must be ${choices.join(', ')}`);
}

/** A wrong value, as an error shows it. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `"${value}"`;
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null
    ? 'an object'
    : typeof value === 'function'
      ? 'a function'
      : String(value);
}
