import { createInterface } from 'node:readline';
import type { ApplicationElicitContentValue, ApplicationElicitResult } from '@modelcontextprotocol/ext-tasks/client';
import type { Question } from './client.ts';

/** Lines that a person types, or that a script pipes in. */
export interface Lines {
  /** The next line; `undefined` when there are no more. */
  ask(prompt: string): Promise<string | undefined>;
  close(): void;
}

/** Reads stdin from the first question on; the questions go to stderr. */
export function readLines(): Lines {
  let reader: ReturnType<typeof createInterface> | undefined;
  let lines: AsyncIterator<string> | undefined;
  return {
    ask: async (prompt) => {
      reader ??= createInterface({ input: process.stdin });
      lines ??= reader[Symbol.asyncIterator]();
      process.stderr.write(prompt);
      const line = await lines.next();
      return line.done ? undefined : line.value.trim();
    },
    close: () => reader?.close(),
  };
}

interface Field {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly default?: ApplicationElicitContentValue;
}

/** Puts an elicitation to the person at the terminal, field by field. An empty line takes the default. */
export async function fillIn(question: Question, lines: Lines): Promise<ApplicationElicitResult> {
  const agreed = await lines.ask(`${String(question.message)} [y/n] `);
  if (agreed === undefined) return { action: 'cancel' };
  if (!/^y(es)?$/i.test(agreed)) return { action: 'decline' };
  const { properties = {} } = (question.requestedSchema ?? {}) as { properties?: Record<string, Field> };
  const content: Record<string, ApplicationElicitContentValue> = {};
  for (const [name, field] of Object.entries(properties)) {
    const kinds = field.enum?.join(', ') ?? field.type ?? 'text';
    const preset = field.default === undefined ? '' : ` [${String(field.default)}]`;
    const text = await lines.ask(`  ${name} (${kinds})${preset}: `);
    if (text) content[name] = valueOf(text, field);
    else if (field.default !== undefined) content[name] = field.default;
  }
  return { action: 'accept', content };
}

function valueOf(text: string, { type }: Field): ApplicationElicitContentValue {
  if (type === 'number' || type === 'integer') return Number(text);
  if (type === 'boolean') return /^(y|yes|true|1)$/i.test(text);
  if (type === 'array') return text.split(/\s*,\s*/);
  return text;
}
