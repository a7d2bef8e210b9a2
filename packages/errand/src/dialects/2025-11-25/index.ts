import type { SessionDialect, SessionRevision } from '../../dialect.ts';
import { createDecode } from './decode.ts';
import { createEncode } from './encode.ts';
import { agree, VERSION } from './envelope.ts';
import { createUnasked } from './listen.ts';

/** The revision 2025-11-25 with its experimental tasks. Whoever asks for a version that nobody knows is offered it. */
export const revision20251125: SessionRevision = {
  name: VERSION,
  alone: [VERSION],
  agree,
  speak: (served, terms): SessionDialect => ({
    terms,
    asks: 'by request',
    follows: 'get',
    knowsSubtasks: false,
    decode: createDecode(served, terms),
    ...createEncode(served, terms),
    ...createUnasked(terms),
  }),
};
