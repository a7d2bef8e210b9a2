import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ErrandError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import { testClient } from '../../testing.ts';
import { begin, makeBed, PATIENCE, resultOf, textOf, type Define, type Disk } from './bed.suite.ts';

const GO = z.object({ go: z.boolean() });

/** Which questions can be put, and how they read. */
export function questionSuite(openDisk: () => Disk): void {
  describe('a question that cannot be put', () => {
    const asking: Define = (errand) => {
      errand.tool('careful', { task: 'always' }, async (_, task) => {
        const kinds = (['elicitation', 'sampling', 'roots'] as const).filter((kind) => task.can(kind));
        const refused = async (asked: Promise<unknown>): Promise<unknown> => {
          const error = await asked.then(String, (error: unknown) => error);
          return error instanceof ErrandError ? [error.kind, error.code, error.data] : String(error);
        };
        return JSON.stringify([
          kinds,
          await refused(task.elicit('form', { message: 'Go?', schema: GO })),
          await refused(task.elicit('page', { message: 'Go?', url: 'https://example.org' })),
          await refused(task.sample('model', { messages: [], maxTokens: 1 })),
          await refused(task.sample('tools', { messages: [], maxTokens: 1, tools: [] })),
          await refused(task.roots('roots')),
        ]);
      });
      errand.tool('careless', { task: 'always' }, async (_, task) => {
        await task.roots('roots');
        return 'never';
      });
    };

    it('because the client did not declare its kind is an error that the handler can catch', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { errand } = await bed.server(asking);
      const client = testClient(errand, { capabilities: { elicitation: { url: {} } } });
      const missing = (required: JsonObject) => ['missingCapability', -32021, { requiredCapabilities: required }];
      const id = await begin(client, 'careful');
      await client.until(id, 'input_required', PATIENCE);
      await client.answer(id, { page: { action: 'accept' } });
      expect(JSON.parse(await resultOf(client, id))).toEqual([
        ['elicitation'],
        missing({ elicitation: { form: {} } }),
        '[object Object]', // asked, and answered
        missing({ sampling: {} }),
        missing({ sampling: {} }),
        missing({ roots: {} }),
      ]);
    });

    it('fails the task with what the client would have to declare, where nobody catches it', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { errand } = await bed.server(asking);
      const client = testClient(errand, { capabilities: {} });
      const id = await begin(client, 'careless');
      expect(await client.until(id, 'failed', PATIENCE)).toMatchObject({
        error: { code: -32021, data: { requiredCapabilities: { roots: {} } } },
      });
    });

    it('for want of a new key, or of a flat form, is an error of the handler', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('odd', { task: 'always' }, async (_, task) => {
          const wrong = async (asked: Promise<unknown>): Promise<string> => asked.then(String, String);
          void task.elicit('used', { message: 'Go?', schema: GO }).catch(() => undefined);
          return JSON.stringify([
            await wrong(task.elicit('used', { message: 'Again?', schema: GO })),
            await wrong(task.elicit('', { message: 'No key', schema: GO })),
            await wrong(task.elicit('deep', { message: 'Deep', schema: z.object({ a: z.object({}) }) })),
            await wrong(task.elicit('flat', { message: 'Flat', schema: z.string() })),
            await wrong(task.elicit('when', { message: 'When', schema: GO, timeout: 'soon' as '1s' })),
          ]);
        }),
      );
      expect(JSON.parse(await resultOf(client, await begin(client, 'odd')))).toEqual([
        expect.stringMatching(/^TypeError: the input key "used" was used before/),
        expect.stringMatching(/^TypeError: a question needs a key/),
        expect.stringMatching(/^TypeError: question "deep": field "a" of a form must be/),
        expect.stringMatching(/^TypeError: question "flat": the schema of a form describes an object/),
        expect.stringMatching(/^TypeError: question "when": timeout: "soon" is no length of time/),
      ]);
    });
  });

  describe('the client', () => {
    it('answers forms, pages, its model and its roots', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { errand } = await bed.server((errand) =>
        errand.tool('all', {}, async (_, task) => {
          const form = await task.elicit('form', { message: 'Who?', schema: z.object({ name: z.string() }) });
          const page = await task.elicit('page', { message: 'Pay', url: 'https://example.org/pay' });
          const said = await task.sample('model', { messages: [], maxTokens: 5, timeout: '1h' });
          const [root] = await task.roots('roots');
          return [form.content?.name, page.action, said.model, root?.uri].join(' ');
        }),
      );
      const client = testClient(errand, {
        capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
      });
      const result = await client.run(
        'all',
        {},
        {
          form: { action: 'accept', content: { name: 'Ada' } },
          page: { action: 'accept' },
          model: { role: 'assistant', content: { type: 'text', text: 'hi' }, model: 'm1' },
          roots: { roots: [{ uri: 'file:///home' }] },
        },
      );
      expect(textOf(result)).toBe('Ada accept m1 file:///home');
    });

    it('sees a question as it was put, and nothing of how it is waited for', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server((errand) =>
        errand.tool('ask', { task: 'always' }, async (_, task) => {
          const { signal } = new AbortController();
          await Promise.all([
            task.sample('model', { messages: [], maxTokens: 5, timeout: '1h', signal }),
            task.elicit('form', { message: 'Go?', schema: GO, timeout: '1h', signal }),
          ]);
          return 'done';
        }),
      );
      const id = await begin(client, 'ask');
      const { inputRequests } = await client.until(id, 'input_required', PATIENCE);
      expect(inputRequests).toEqual({
        model: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } },
        form: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'Go?',
            requestedSchema: { type: 'object', properties: { go: { type: 'boolean' } }, required: ['go'] },
          },
        },
      });
    });
  });
}
