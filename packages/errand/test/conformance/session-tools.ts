import type { Errand } from '../../src/errand.ts';
import { jsonSchema } from '../../src/index.ts';
import type { JsonObject } from '../../src/json.ts';
import * as z from 'zod';

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

/** A form of any fields, each of which may be left out. */
const form = (properties: JsonObject) => jsonSchema({ type: 'object', properties });

const DEFAULTS = form({
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
});

const TITLED = [
  { const: 'value1', title: 'First option' },
  { const: 'value2', title: 'Second option' },
  { const: 'value3', title: 'Third option' },
];

const CHOICES = form({
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: TITLED },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: { type: 'array', items: { anyOf: TITLED } },
});

/** The tools by which the scenarios of 2025-11-25 have their client asked in the middle of a call. */
export function addSessionTools(errand: Errand): void {
  errand.tool(
    'test_elicitation',
    { description: 'Asks a person', task: 'never', inputSchema: z.object({ message: z.string() }) },
    async ({ message }, task) => {
      const schema = z.object({ username: z.string(), email: z.string() });
      return text(`The person answered ${JSON.stringify(await task.elicit('who', { message, schema }))}`);
    },
  );
  errand.tool(
    'test_sampling',
    { description: 'Asks the model', task: 'never', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, task) => {
      const messages = [{ role: 'user' as const, content: { type: 'text', text: prompt } }];
      const answer = await task.sample('answer', { messages, maxTokens: 100 });
      return text(`The model answered ${JSON.stringify(answer.content)}`);
    },
  );
  const forms = { sep1034_defaults: DEFAULTS, sep1330_enums: CHOICES };
  for (const [name, schema] of Object.entries(forms)) {
    errand.tool(`test_elicitation_${name}`, { description: 'Asks by a form', task: 'never' }, async (_args, task) => {
      return text(`The person chose ${JSON.stringify(await task.elicit('form', { message: 'Which?', schema }))}`);
    });
  }
}
