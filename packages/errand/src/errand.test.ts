import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { AnswerRejected, createErrand, memory, type ErrandOptions, type HandlerResult } from './index.ts';
import { testClient } from './testing.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

function server(options: Partial<ErrandOptions> = {}) {
  const errand = createErrand({ name: 'test', version: '1', log: pino({ level: 'silent' }), ...options });
  closers.push(() => errand.close());
  return errand;
}

describe('a call of the task within a step', () => {
  it.each([
    ['now', /^now is called within step "outer"/],
    ['uuid', /^uuid is called within step "outer"/],
    ['step', /^step "inner" is called within step "outer"/],
    ['sleep', /^sleep is called within step "outer"/],
    ['elicit', /^the question "q" is called within step "outer"/],
  ] as const)('%s is refused in the first run, since no replay would come to it', async (name, message) => {
    const errand = server().tool('nest', { task: 'always' }, async (_args, task) => {
      const calls = {
        now: () => task.now(),
        uuid: () => task.uuid(),
        step: () => task.step('inner', () => 1),
        sleep: () => task.sleep(1),
        elicit: () => task.elicit('q', { message: '?', schema: z.object({}) }),
      };
      await task.step('outer', async () => {
        await calls[name]();
      });
      return 'done';
    });
    const result = await testClient(errand).run('nest');
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(message) as string }] });
  });

  it('is allowed again after it', async () => {
    const errand = server().tool('after', { task: 'always' }, async (_args, task) => {
      await task.step('outer', () => new Promise((resolve) => setTimeout(resolve, 5)));
      await task.step('next', () => 1);
      return task.uuid().length === 36 ? 'ok' : 'odd';
    });
    await expect(testClient(errand).run('after')).resolves.toMatchObject({ content: [{ text: 'ok' }] });
  });
});

describe('serving', () => {
  it('runs nothing where the port is taken', async () => {
    const store = memory();
    const before = server({ store }).tool('wait', { task: 'always' }, async (_args, task) => {
      await task.elicit('never', { message: '?', schema: z.object({}) });
      return 'done';
    });
    const { taskId } = await testClient(before).call('wait');
    await before.close();

    const holder = await server().serve({ port: 0 });
    let ran = false;
    const late = server({ store }).tool('wait', { task: 'always' }, (_args, _task) => {
      ran = true;
      return 'done';
    });
    await expect(late.serve({ port: holder.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ran).toBe(false);
    expect(taskId).toBeTypeOf('string');
  });

  it('leaves no port open when the server is closed meanwhile', async () => {
    const errand = server();
    const serving = errand.serve({ port: 0 });
    await errand.close();
    const outcome = await serving.then(
      ({ url }) => fetch(url).then(() => 'open'),
      () => 'closed',
    );
    expect(outcome).toBe('closed');
  });

  it('answers 503 by fetch once it is closed', async () => {
    const errand = server().tool('echo', {}, () => 'hi');
    await errand.close();
    await expect(testClient(errand).call('echo')).rejects.toMatchObject({ code: -31003 });
  });
});

describe('what a handler returns', () => {
  it.each<[string, unknown, string]>([
    ['a number for a block', { content: [1] }, 'content[0] is no content block'],
    [
      'a block of an unknown type',
      { content: [{ type: 'bogus' }] },
      'content[0] is no content block; its type is one of',
    ],
    ['a text block without its text', { content: [{ type: 'text' }] }, 'so its text must be a text'],
    [
      'an image without its data',
      { content: [{ type: 'image', mimeType: 'image/png' }] },
      'so its data must be a text',
    ],
    ['a resource without a uri', { content: [{ type: 'resource', resource: {} }] }, 'its resource must have a uri'],
    ['isError that is no boolean', { content: [], isError: 'yes' }, 'isError is no boolean'],
    ['no content', {}, 'is neither a text nor an object with a content list'],
  ])('%s fails the call, and names what is wrong', async (_name, returned, message) => {
    const errand = server().tool('odd', {}, () => returned as HandlerResult);
    await expect(testClient(errand).call('odd')).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining(message) as string,
    });
  });

  it('may be thrown in any shape, and becomes a text', async () => {
    const errand = server()
      .tool('bare', {}, () => {
        throw Object.create(null);
      })
      .tool('wordless', {}, () => {
        throw Object.assign(new Error(), { message: { a: 1 } });
      });
    await expect(testClient(errand).call('bare')).resolves.toMatchObject({ isError: true });
    await expect(testClient(errand).call('wordless')).resolves.toMatchObject({ content: [{ text: '{ a: 1 }' }] });
  });
});

describe('prepare', () => {
  it('that throws tells the model why, as a handler would', async () => {
    const errand = server().tool(
      'picky',
      {
        prepare: () => {
          throw new Error('no such film');
        },
      },
      () => 'done',
    );
    const result = await testClient(errand).call('picky');
    expect(result).toMatchObject({ isError: true, content: [{ text: 'no such film' }] });
  });
});

describe('a secret', () => {
  /** A server with a store of its own, whose tool asks before there is a task. */
  const asking = (secret?: string) =>
    testClient(
      server(secret === undefined ? {} : { secret }).tool(
        'bake',
        {
          prepare: async (_args, ask) =>
            (await ask.elicit('cake', { message: 'Which?', schema: z.object({ name: z.string() }) })).content!.name,
        },
        (_args, task) => `a ${task.prepared as string}`,
      ),
    );
  const inputResponses = { cake: { action: 'accept', content: { name: 'tart' } } };

  it('lets one server go on with what another one sealed', async () => {
    const { requestState } = await asking('as long as it has to be').call('bake');
    const more = { inputResponses, requestState: requestState! };
    await expect(asking('as long as it has to be').call('bake', {}, more)).resolves.toMatchObject({
      content: [{ text: 'a tart' }],
    });
    await expect(asking('another one of that length').call('bake', {}, more)).rejects.toMatchObject({ code: -32602 });
    await expect(asking().call('bake', {}, more)).rejects.toMatchObject({ code: -32602 });
  });

  it('that could be guessed is refused', () => {
    expect(() => server({ secret: '' })).toThrow('createErrand: secret has 0 bytes; 16 or more keep it one');
    expect(() => server({ secret: Buffer.alloc(15) })).toThrow('createErrand: secret has 15 bytes');
  });
});

describe('an answer that breaks a rule JSON Schema cannot say', () => {
  it('is a typed error, after which the handler can ask again', async () => {
    const pair = z.object({ a: z.number(), b: z.number() }).refine(({ a, b }) => a === b, 'a and b differ');
    const errand = server().tool('pair', { task: 'always' }, async (_args, task) => {
      try {
        await task.elicit('first', { message: '?', schema: pair });
        return 'equal';
      } catch (error) {
        if (!(error instanceof AnswerRejected)) throw error;
        const again = await task.elicit('second', { message: error.message, schema: pair });
        return `then ${again.content!.a}`;
      }
    });
    const answers = {
      first: { action: 'accept', content: { a: 1, b: 2 } },
      second: { action: 'accept', content: { a: 3, b: 3 } },
    };
    await expect(testClient(errand).run('pair', {}, answers)).resolves.toMatchObject({ content: [{ text: 'then 3' }] });
  });
});

describe('an earlier version of a tool', () => {
  it('gets its arguments as its own schema parses them', async () => {
    const store = memory();
    const inputSchema = z.object({ n: z.number().default(3) });
    const ask = { message: '?', schema: z.object({}) };
    const old = server({ store }).tool('count', { task: 'always', inputSchema }, async ({ n }, task) => {
      await task.elicit('go', ask);
      return `n=${n}`;
    });
    const { taskId } = await testClient(old).call('count');
    await testClient(old).until(taskId as string, 'input_required');
    await old.close();

    const previous = [
      {
        version: '1',
        inputSchema,
        handler: async ({ n }: { n: number }, task: Parameters<Parameters<typeof old.tool>[2]>[1]) => {
          await task.elicit('go', ask);
          return `n=${n}`;
        },
      },
    ];
    const now = server({ store }).tool('count', { task: 'always', version: '2', previous }, () => 'new');
    const client = testClient(now);
    await client.answer(taskId as string, { go: { action: 'accept', content: {} } });
    const task = await client.until(taskId as string, 'completed');
    expect(task).toMatchObject({ result: { content: [{ text: 'n=3' }] } });
  });
});

describe('retry', () => {
  it('says whether a task of that id was held', async () => {
    const errand = server().tool('quick', { task: 'always' }, (_args, _task) => 'done');
    const { taskId } = await testClient(errand).call('quick');
    await testClient(errand).until(taskId as string, 'completed');
    await expect(errand.retry(taskId as string)).resolves.toBe(false);
    await expect(errand.retry('nothing')).resolves.toBe(false);
  });
});
