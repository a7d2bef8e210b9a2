/** Does work on each item, `jobs` at a time. Rejects with the first failure, once all that was begun is over. */
export async function inParallel<T>(
  jobs: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const results = await Promise.allSettled(
    Array.from({ length: jobs }, async () => {
      for (const item of queue) await work(item);
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
