/** How long an issuer may take to answer, in ms. */
const PATIENCE = 5000;
/** Key sets and metadata are a few kB. */
const MAX_BYTES = 256 * 1024;

/** Fetches a document that is small, whole and at this very URL. Rejects where it is too large, or takes too long. */
export async function fetchDocument(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(PATIENCE) });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    // Leaving the loop gives the rest of it up.
    if (size > MAX_BYTES) throw new Error(`${String(url)} answers with more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { status, headers } = response;
  return new Response(size === 0 ? null : Buffer.concat(chunks, size), { status, headers });
}
