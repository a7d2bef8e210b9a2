import { readFile, stat } from 'node:fs/promises';
import { createTwoFilesPatch } from 'diff';
import type { Errand } from 'errand';
import * as z from 'zod';
import { locate, Refused, type Place } from './place.ts';

const MOST_BYTES = 2 ** 20;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
const WHERE = 'A URL on this machine (http://localhost:3000/a), or a file from the root of the server';

/** `compare`: fetches two texts at once, trying each again if it fails, and shows what differs. */
export function addCompare(errand: Errand, place: Place): void {
  errand.tool(
    'compare',
    {
      title: 'Compare two texts',
      description: 'A unified diff of two local URLs or files.',
      inputSchema: z.object({ left: z.string().describe(WHERE), right: z.string().describe(WHERE) }),
      outputSchema: z.object({ same: z.boolean() }),
      annotations: { readOnlyHint: true },
      // Answered at once when both come quickly, else with a task.
      task: 'auto',
      patience: '1s',
      pollInterval: '500ms',
    },
    async ({ left, right }, task) => {
      const fetched = (source: string) =>
        task.step(`fetch ${source}`, ({ signal }) => fetchText(place, source, signal), {
          retry: { attempts: 4, backoff: '500ms', when: (error) => !(error instanceof Refused) },
          timeout: '10s',
        });
      const [before, after] = await Promise.all([fetched(left), fetched(right)]);
      const patch = await task.step('diff', () => createTwoFilesPatch(left, right, before, after));
      const same = before === after;
      return {
        content: [{ type: 'text', text: same ? `${left} and ${right} are the same.` : patch }],
        structuredContent: { same },
      };
    },
  );
}

async function fetchText(place: Place, source: string, signal: AbortSignal): Promise<string> {
  if (!/^https?:/i.test(source)) {
    const file = await locate(place, source);
    if ((await stat(file)).size > MOST_BYTES) throw new Refused(`${source} is larger than ${MOST_BYTES} bytes.`);
    return readFile(file, 'utf8');
  }
  if (!LOOPBACK.has(new URL(source).hostname)) throw new Refused(`${source} is not on this machine.`);
  // A redirect could lead anywhere.
  const response = await fetch(source, { signal, redirect: 'error' }).catch(({ message, cause }: Error) => {
    throw new Error(`${source} could not be fetched: ${cause instanceof Error ? cause.message : message}`);
  });
  if (!response.ok) throw new Error(`${source} answered ${response.status} ${response.statusText}`);
  const text = await response.text();
  if (text.length > MOST_BYTES) throw new Refused(`${source} is larger than ${MOST_BYTES} bytes.`);
  return text;
}
