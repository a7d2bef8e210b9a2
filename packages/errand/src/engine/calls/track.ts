import { show } from '../../options.ts';

/** Refuses what cannot be gone through, before anybody asks for the first item. */
export function checkTrackable(items: unknown): void {
  const iterable = (typeof items === 'object' || typeof items === 'string') && items !== null;
  if (iterable && (Symbol.iterator in Object(items) || Symbol.asyncIterator in Object(items))) return;
  throw new TypeError(
    `track: the first argument is ${show(items)}; it must be a list, or something else to iterate over`,
  );
}

/** Goes through items, and tells after each one how many are done, of how many where that is known. */
export async function* track<T>(
  items: Iterable<T> | AsyncIterable<T>,
  progress: (done: number, total: number | undefined, message: string | undefined) => void,
  message: ((item: T, index: number) => string) | undefined,
): AsyncGenerator<T, void> {
  const total = countOf(items);
  let done = 0;
  progress(done, total, undefined);
  for await (const item of items) {
    yield item;
    // Only when the next one is asked for is this one done.
    progress(++done, total, message?.(item, done - 1));
  }
}

function countOf(items: object): number | undefined {
  const { length, size } = items as { length?: unknown; size?: unknown };
  return typeof length === 'number' ? length : typeof size === 'number' ? size : undefined;
}
