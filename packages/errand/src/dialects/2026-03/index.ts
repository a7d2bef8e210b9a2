import type { SessionDialect, SessionRevision } from '../../dialect.ts';
import { createDecode } from './decode.ts';
import { createEncode } from './encode.ts';
import { agree, understands } from './envelope.ts';
import { createUnasked } from './listen.ts';

/**
 * The drafts of March 2026: unsolicited tasks (SEP-2229), continuity (SEP-2339), questions by results (SEP-2322),
 * subtasks (SEP-2268), and progress on tasks. Never released, so a client has to ask for it by name.
 */
export const revision202603: SessionRevision = {
  name: '2026-03',
  // What a client understands is agreed on when it opens a session (N-4).
  alone: [],
  agree,
  speak: (served, terms): SessionDialect => ({
    terms,
    // K-9, or the side channel (K-16, R-9).
    asks: understands(terms, 'mrtr') ? 'by result' : 'by request',
    follows: 'continue',
    knowsSubtasks: understands(terms, 'subtasks'),
    decode: createDecode(served, terms),
    ...createEncode(served, terms),
    ...createUnasked(terms),
  }),
};
