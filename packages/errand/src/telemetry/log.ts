import { pino, type Logger, type LoggerOptions } from 'pino';

/** What is never anybody's business who reads a log, under whatever name it is logged. */
const SECRET = [
  'arguments',
  'args',
  'answer',
  'answers',
  'inputResponses',
  'requestState',
  'result',
  'structuredContent',
  'authorization',
  'Authorization',
  'cookie',
  'token',
  'access_token',
  'secret',
  'password',
];
/** How deep it is looked for. */
const DEPTHS = ['', '*.', '*.*.'];

/**
 * How the server logs by default: what is secret by its name is left out, and of errors there is their kind, message,
 * stack and cause alone, since HTTP clients hang whole requests on theirs, with the token. For loggers of your own:
 * `pino({ ...logOptions, level: 'info' })`. A message may say anything, and stays as it is.
 */
export const logOptions: Pick<LoggerOptions, 'redact' | 'serializers'> = {
  redact: { paths: DEPTHS.flatMap((depth) => SECRET.map((name) => depth + name)), censor: '[redacted]' },
  serializers: { err: (thrown: unknown) => errorOf(thrown, 5) },
};

/** The log of a server that was given none: warnings and errors, on stderr, which is nobody's protocol. */
export function defaultLog(name: string): Logger {
  return pino({ ...logOptions, name, level: 'warn' }, pino.destination({ dest: 2, sync: true }));
}

function errorOf(thrown: unknown, depth: number): unknown {
  if (typeof thrown === 'string') return { message: thrown };
  if (!(thrown instanceof Error)) return { type: typeof thrown };
  const { name, message, stack, cause } = thrown;
  const { code } = thrown as { readonly code?: unknown };
  return {
    type: name,
    message,
    stack,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(cause !== undefined && depth > 0 && { cause: errorOf(cause, depth - 1) }),
    ...(thrown instanceof AggregateError && depth > 0 && { errors: thrown.errors.map((e) => errorOf(e, depth - 1)) }),
  };
}
