import { format } from 'prettier';
import type { JsonValue } from '../../src/json.ts';
import { eventsIn } from '../fixtures/session-wire.ts';
import type { Loose } from '../wire-schemas.ts';

/** What went over the wire, in order, as it is shown. */
export interface Recording {
  /** Sends a request or another message, and waits until its response is over. Gives the last message that came. */
  send(message: object, headers?: Record<string, string>): Promise<Loose>;
  /** Sends a request, and gives its messages as they come; those of a stream are written down as they are read. */
  open(message: object, headers?: Record<string, string>): AsyncGenerator<Loose>;
  /** Writes down a heading. */
  note(text: string): void;
  /** The page, with all that differs from run to run replaced. */
  page(title: string): Promise<string>;
}

/** Records what goes to a server and what comes from it. */
export function record(url: string): Recording {
  const parts: string[] = [];
  const session: { id?: string } = {};
  const names = new Map<string, string>();

  /** Gives what differs each time a name that does not. */
  function steady(value: Loose, key = ''): JsonValue {
    if (typeof value === 'string') {
      if (/^\d{4}-\d\d-\d\dT/.test(value)) return key === 'createdAt' ? '(when it was made)' : '(when it last changed)';
      if (key === 'taskId') return named(value, 'task');
      if (key === 'requestState') return '(sealed)';
      // The id of a question begins with that of its task.
      if (key === 'id' || key === 'requestId') return value.includes(':') ? named(value, 'question') : value;
      return value;
    }
    if (Array.isArray(value)) return value.map((item) => steady(item));
    if (typeof value !== 'object' || value === null) return value as JsonValue;
    return Object.fromEntries(Object.entries(value as object).map(([name, member]) => [name, steady(member, name)]));
  }

  function named(value: string, kind: string): string {
    const known =
      names.get(value) ?? `${kind}-${[...names.values()].filter((name) => name.startsWith(kind)).length + 1}`;
    names.set(value, known);
    return known;
  }

  const show = (who: string, message: Loose): number =>
    parts.push(`The ${who} sends`, '', '```json', JSON.stringify(steady(message), undefined, 2), '```', '');

  async function* open(message: object, headers: Record<string, string> = {}): AsyncGenerator<Loose> {
    const whole = { jsonrpc: '2.0', ...message };
    show('client', whole);
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session.id !== undefined && { 'mcp-session-id': session.id }),
        ...headers,
      },
      body: JSON.stringify(whole),
    });
    session.id ??= response.headers.get('mcp-session-id') ?? undefined!;
    if (response.status === 202) parts.push('The server answers 202.', '');
    for await (const { message: received } of eventsIn(response)) {
      if (received === undefined) continue;
      show('server', received);
      yield received;
    }
  }

  return {
    open,
    async send(message, headers) {
      let last: Loose;
      for await (const received of open(message, headers)) last = received;
      return last;
    },
    note: (text) => void parts.push(`## ${text}`, ''),
    page: (title) =>
      format(
        [`# ${title}`, '', 'Made by `npm run docs`; ids, times and seals are replaced.', '', ...parts].join('\n'),
        {
          parser: 'markdown',
          printWidth: 120,
          singleQuote: true,
        },
      ),
  };
}
