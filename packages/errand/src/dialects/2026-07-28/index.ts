import type { Dialect, Served } from '../../dialect.ts';
import { createControlResults } from './control.ts';
import { createDecode } from './decode.ts';
import { createEncode } from './encode.ts';
import { VERSION } from './envelope.ts';
import { createListenFrames } from './listen.ts';

/** The revision 2026-07-28 with the extension `io.modelcontextprotocol/tasks` (SEP-2663). */
export function createDialect20260728(served: Served): Dialect {
  return {
    version: VERSION,
    decode: createDecode(served),
    ...createEncode(served),
    listen: createListenFrames(served),
    control: createControlResults(served),
  };
}
