/* Where faults are put, and which tests are to find them. */

const src = (file) => `packages/errand/src/${file}`;

export const ENCODE = src('dialects/2026-07-28/encode.ts');
export const DECODE = src('dialects/2026-07-28/decode.ts');
export const ENVELOPE = src('dialects/2026-07-28/envelope.ts');
export const HEADERS = src('dialects/2026-07-28/headers.ts');
export const LISTEN = src('dialects/2026-07-28/listen.ts');
export const FRONT = src('serve/front.ts');
export const SUBSCRIPTIONS = src('serve/subscriptions.ts');
export const TRANSITIONS = src('task/transitions.ts');
export const COMMANDS = src('engine/commands.ts');
export const CALLING = src('engine/calling.ts');
export const QUESTIONS = src('engine/questions.ts');
export const INPUT = src('engine/calls/input.ts');
export const ERRORS = src('errors.ts');
export const SQLITE_IDS = src('stores/sqlite/ids.ts');

export const ENCODE_TEST = src('dialects/2026-07-28/encode.test.ts');
export const DECODE_TEST = src('dialects/2026-07-28/decode.test.ts');
export const HEADERS_TEST = src('dialects/2026-07-28/headers.test.ts');
export const FRONT_TEST = src('serve/front.test.ts');
export const SUBSCRIPTIONS_TEST = src('serve/subscriptions.test.ts');
export const TRANSITIONS_TEST = src('task/transitions.test.ts');
export const WIRE_GAPS = 'packages/errand/test/wire-gaps.test.ts';
export const STATUS_NOTIFICATIONS = 'packages/errand/test/conformance/status-notifications.test.ts';
export const cases = (name) => `packages/errand/test/cases/${name}.test.ts`;

/** One fault in one place. */
export const mutant = (id, gap, tests, file, find, replace) => ({ id, gap, tests, edits: [{ file, find, replace }] });
