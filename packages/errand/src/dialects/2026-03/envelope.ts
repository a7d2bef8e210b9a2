import type { Terms } from '../../dialect.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { DRAFT, termsOf } from '../2025-11-25/envelope.ts';

/** The key under `capabilities.experimental` by which a client asks for the drafts, and is told that it has them (N-7). */
export const OPT_IN = 'dev.errand/tasks-2026-03';

/** Where the error of a failed tool carries what the tool said. */
export const TOOL_RESULT = 'dev.errand/result';

/** What a client may leave out. */
const PARTS = ['mrtr', 'subtasks', 'progress'] as const;
export type Part = (typeof PARTS)[number];

/** The proposals behind each part; those of the first line are always spoken. */
const SEPS: Record<'always' | Part, readonly string[]> = {
  always: ['SEP-2229', 'SEP-2339'],
  mrtr: ['SEP-2322'],
  subtasks: ['SEP-2268'],
  progress: ['transports-wg#11'],
};

/** The version names at least four wires, so it takes the opt-in as well; without it there is nothing for us here (N-7). */
export function agree(params: JsonObject): Terms | undefined {
  const { protocolVersion, capabilities } = params;
  const experimental = isObject(capabilities) ? capabilities.experimental : undefined;
  const wish = isObject(experimental) ? experimental[OPT_IN] : undefined;
  if (protocolVersion !== DRAFT || !isObject(wish)) return undefined;
  return { ...termsOf(params, DRAFT, '2026-03'), understands: partsOf(wish) };
}

export function understands({ understands = [] }: Terms, part: Part): boolean {
  return understands.includes(part);
}

/** What the server tells of the drafts that it speaks with this client. */
export function spoken({ understands = [] }: Terms): JsonObject {
  const parts = PARTS.filter((part) => understands.includes(part));
  return {
    seps: [...SEPS.always, ...parts.flatMap((part) => SEPS[part])],
    ...Object.fromEntries(parts.map((part) => [part, {}])),
  };
}

/** The parts that a client names, in the way of capabilities; one that names none understands all. */
function partsOf(wish: JsonObject): Part[] {
  if (!PARTS.some((part) => part in wish)) return [...PARTS];
  return PARTS.filter((part) => isObject(wish[part]) || wish[part] === true);
}
