import fc from 'fast-check';

/*
 * How a body travels over HTTP: its head, and the pieces in which it is sent.
 */

export type HeadEdit =
  | { readonly op: 'drop'; readonly header: number }
  | { readonly op: 'repeat'; readonly header: number; readonly value?: string }
  | { readonly op: 'set'; readonly name: string; readonly value: string }
  | { readonly op: 'line'; readonly method?: string; readonly target?: string; readonly version?: string }
  | { readonly op: 'length'; readonly by: number }
  | { readonly op: 'raw'; readonly line: string };

export interface Carriage {
  readonly head: readonly HeadEdit[];
  /** Sent in chunks of so many bytes; 0: under a Content-Length. */
  readonly chunked: number;
  readonly pieces: number;
  /** Between two pieces, in ms. */
  readonly pause: number;
  /** The client hangs up when it has sent so much, in 1/1000; `undefined`: it waits for the answer. */
  readonly leaves: number | undefined;
}

const METHODS = ['GET', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'CONNECT', 'post', 'BREW'];
const header = fc.nat(20);

const SET: readonly (readonly [string, string])[] = [
  ['content-type', 'application/json; charset=utf-8'],
  ['content-type', 'APPLICATION/JSON'],
  ['content-type', 'text/plain'],
  ['content-type', ''],
  ['content-type', 'application/json, application/json'],
  ['accept', 'text/html'],
  ['host', 'evil.example'],
  ['host', 'localhost'],
  ['host', '127.0.0.1:99999:1'],
  ['host', ''],
  ['origin', 'https://evil.example'],
  ['origin', 'null'],
  ['origin', 'http://localhost:3000'],
  ['mcp-protocol-version', '2025-11-25'],
  ['mcp-protocol-version', ' 2026-07-28 '],
  ['mcp-protocol-version', '9'.repeat(5000)],
  ['mcp-method', 'tools/LIST'],
  ['mcp-name', '=?base64?ZWNobw==?='],
  ['mcp-name', '=?base64?*?='],
  ['mcp-name', '=?base64??='],
  ['mcp-name', 'é\u0080'],
  ['mcp-session-id', 'old'],
  ['last-event-id', '7'],
  ['authorization', 'Bearer x'],
  ['expect', '100-continue'],
  ['expect', 'the unexpected'],
  ['upgrade', 'websocket'],
  ['content-encoding', 'gzip'],
  ['content-length', 'abc'],
  ['content-length', '-1'],
  ['content-length', '0x10'],
  ['content-length', '99999999999999999999'],
  ['content-length', '5000000'],
  ['transfer-encoding', 'chunked'],
  ['transfer-encoding', 'gzip, chunked'],
  ['transfer-encoding', 'chunked, identity'],
  ['connection', 'keep-alive'],
  ['connection', 'upgrade'],
  ['x-long', 'x'.repeat(20_000)],
  ['__proto__', 'x'],
];

const LINES = [
  'no colon',
  ': no name',
  'bad name: x',
  'x-nul: \u0000',
  'x-tab:\tx',
  ' folded',
  'x-lf: a\nx-b: c',
  'x\u00e9: y',
];

const edit: fc.Arbitrary<HeadEdit> = fc.oneof(
  fc.record({ op: fc.constant('drop'), header }),
  fc.record(
    { op: fc.constant('repeat'), header, value: fc.constantFrom('x', '', '0') },
    { requiredKeys: ['op', 'header'] },
  ),
  fc.constantFrom(...SET).map(([name, value]) => ({ op: 'set' as const, name, value })),
  fc.constantFrom(...METHODS).map((method) => ({ op: 'line' as const, method })),
  fc
    .constantFrom(
      '/',
      '/mcp/',
      '/mcp?x=1',
      '//mcp',
      '*',
      'http://127.0.0.1/mcp',
      '/mcp#x',
      '/%6dcp',
      `/mcp?${'x'.repeat(9000)}`,
    )
    .map((target) => ({ op: 'line' as const, target })),
  fc
    .constantFrom('HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', 'HTTP/1.1x', '')
    .map((version) => ({ op: 'line' as const, version })),
  fc.constantFrom(-20, -1, 1, 100).map((by) => ({ op: 'length' as const, by })),
  fc.constantFrom(...LINES).map((line) => ({ op: 'raw' as const, line })),
);

export const carriages: fc.Arbitrary<Carriage> = fc.record({
  head: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(edit, { minLength: 1, maxLength: 2 })),
  chunked: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.constantFrom(1, 7, 1000)),
  pieces: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 8 })),
  pause: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.constantFrom(1, 15)),
  leaves: fc.oneof({ weight: 15, arbitrary: fc.constant(undefined) }, fc.nat(1000)),
});

/** One request as bytes. */
export interface Carried {
  readonly bytes: Buffer;
  /** Whether it is what HTTP calls a request, so that it must be answered. */
  readonly whole: boolean;
  readonly line: { readonly method: string; readonly target: string; readonly version: string };
}

/** Puts a body under a head. `headers` are those that an honest client sends with it. */
export function carried(headers: Readonly<Record<string, string>>, body: Buffer, { head, chunked }: Carriage): Carried {
  const framing: [string, string] =
    chunked > 0 ? ['transfer-encoding', 'chunked'] : ['content-length', `${body.length}`];
  let lines: [string, string][] = [['host', '127.0.0.1'], ['connection', 'close'], framing, ...Object.entries(headers)];
  const line = { method: 'POST', target: '/mcp', version: 'HTTP/1.1' };
  const raw: string[] = [];
  let whole = true;
  for (const edit of head) {
    const chosen = 'header' in edit ? lines[edit.header % lines.length] : undefined;
    // Whether HTTP still sees one whole request depends on these alone.
    if ('header' in edit && (chosen === undefined || FRAMING.has(chosen[0]))) whole = false;
    if (edit.op === 'set' && (FRAMING.has(edit.name) || edit.value.length > 10_000)) whole = false;
    if (edit.op === 'length' || edit.op === 'raw' || edit.op === 'line') whole = false;
    switch (edit.op) {
      case 'drop':
        lines = lines.filter((each) => each !== chosen);
        break;
      case 'repeat':
        if (chosen) lines.push([chosen[0], edit.value ?? chosen[1]]);
        break;
      case 'set':
        lines = [...lines.filter(([name]) => name !== edit.name), [edit.name, edit.value]];
        break;
      case 'length':
        lines = lines.map(([name, value]) => [name, name === 'content-length' ? `${Number(value) + edit.by}` : value]);
        break;
      case 'line':
        Object.assign(line, edit);
        break;
      case 'raw':
        raw.push(edit.line);
    }
  }
  const text = [
    `${line.method} ${line.target} ${line.version}`,
    ...lines.map(([name, value]) => `${name}: ${value}`),
    ...raw,
    '',
    '',
  ].join('\r\n');
  return {
    bytes: Buffer.concat([Buffer.from(text, 'latin1'), chunked > 0 ? inChunks(body, chunked) : body]),
    whole: whole && text.length < 15_000,
    line,
  };
}

/** Headers without which, or with others of which, HTTP does not know where a request ends, or refuses it by itself. */
const FRAMING = new Set([
  'content-length',
  'transfer-encoding',
  'host',
  'expect',
  'upgrade',
  'connection',
  '__proto__',
]);

function inChunks(body: Buffer, size: number): Buffer {
  // A body of a megabyte in chunks of a byte would test nothing but patience.
  const step = Math.max(size, Math.ceil(body.length / 200));
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += step) {
    const part = body.subarray(at, at + step);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
