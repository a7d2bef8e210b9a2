import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createErrand } from '../../src/index.ts';
import { frame, headersOf, TASK_CLIENT } from '../fixtures/frames.ts';
import { gate, type Gate } from '../fixtures/gate.ts';
import { OPT_IN } from '../fixtures/march-wire.ts';
import { PACKAGE } from '../rules/citations.ts';
import type { Loose } from '../wire-schemas.ts';
import { record, type Recording } from './recording.ts';

const RUNS = path.join(PACKAGE, '../../docs/runs');
const NAMED = { action: 'accept', content: { name: 'Ada' } };
const clientInfo = { name: 'recorder', version: '1.0.0' };

/** What `hello_world` waits for before it goes on, so that each run has the same messages. */
interface Gates {
  readonly first: Gate;
  readonly second: Gate;
}

/** A run of the `hello_world` of SEP-2339, over HTTP. */
async function run(act: (wire: Recording, gates: Gates) => Promise<void>): Promise<Recording> {
  const gates: Gates = { first: gate(), second: gate() };
  const errand = createErrand({ name: 'hello', version: '1.0.0' });
  errand.tool(
    'hello_world',
    {
      description: 'Greets somebody, once it knows whom',
      task: 'always',
      pollInterval: '1s',
      deadline: '1h',
      retention: '1h',
    },
    async (_args, task) => {
      await task.step('get up', () => gates.first.opened);
      const { content } = await task.elicit('name', {
        message: 'Please provide your name.',
        schema: z.object({ name: z.string() }),
      });
      await task.step('think', () => gates.second.opened);
      return { content: [{ type: 'text', text: `Hello, ${content?.name ?? 'world'}!` }], isError: false };
    },
  );
  const { url } = await errand.serve({ port: 0 });
  const wire = record(url);
  try {
    await act(wire, gates);
  } finally {
    gates.first.open();
    gates.second.open();
    await errand.close();
  }
  return wire;
}

/** Gives what was let go the time to come to something, without a message of its own. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 400));

const recordings: Record<string, () => Promise<string>> = {
  async '2026-07-28'() {
    const wire = await run(async ({ note, send }, { first, second }) => {
      let id = 0;
      const ask = async (method: string, params: Loose = {}): Promise<Loose> => {
        const request = frame(++id, method, params, TASK_CLIENT);
        return (await send(request, headersOf(request))).result;
      };
      note('The call makes a task');
      const { taskId } = await ask('tools/call', { name: 'hello_world', arguments: {} });
      note('It works');
      await ask('tasks/get', { taskId });
      first.open();
      await settle();
      note('It asks');
      await ask('tasks/get', { taskId });
      note('It is answered');
      await ask('tasks/update', { taskId, inputResponses: { name: NAMED } });
      second.open();
      await settle();
      note('It has ended');
      await ask('tasks/get', { taskId });
    });
    return wire.page('One task in 2026-07-28');
  },

  async '2025-11-25'() {
    const wire = await run(async ({ note, send, open }, { first, second }) => {
      note('A session is opened');
      const capabilities = { elicitation: { form: {} } };
      await send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities, clientInfo } });
      await send({ method: 'notifications/initialized' });
      note('The call makes a task, as the client wishes');
      const params = { name: 'hello_world', arguments: {}, task: { ttl: 3_600_000 } };
      const { taskId } = (await send({ id: 2, method: 'tools/call', params })).result.task;
      note('It works');
      await send({ id: 3, method: 'tasks/get', params: { taskId } });
      first.open();
      await settle();
      note('It needs its client');
      await send({ id: 4, method: 'tasks/get', params: { taskId } });
      note('The client waits for its result, and is asked on that stream');
      for await (const { id, method } of open({ id: 5, method: 'tasks/result', params: { taskId } })) {
        if (method !== 'elicitation/create') continue;
        await send({ id, result: NAMED });
        setTimeout(() => second.open(), 300);
      }
      note('It has ended');
      await send({ id: 6, method: 'tasks/get', params: { taskId } });
    });
    return wire.page('One task in 2025-11-25');
  },

  async '2026-03'() {
    const wire = await run(async ({ note, send }, { first, second }) => {
      note('A session is opened, with the opt-in');
      const capabilities = { elicitation: { form: {} }, experimental: { [OPT_IN]: {} } };
      await send({
        id: 1,
        method: 'initialize',
        params: { protocolVersion: 'DRAFT-2026-v1', capabilities, clientInfo },
      });
      await send({ method: 'notifications/initialized' });
      note('The call makes a task, though nobody asked for one');
      const params = { name: 'hello_world', arguments: {} };
      const { taskId } = (await send({ id: 2, method: 'tools/call', params })).result.task;
      note('It works');
      await send({ id: 3, method: 'tasks/continue', params: { taskId } });
      first.open();
      await settle();
      note('It asks');
      await send({ id: 4, method: 'tasks/continue', params: { taskId } });
      note('Whoever only looks sees that, and not what it asks');
      await send({ id: 5, method: 'tasks/get', params: { taskId } });
      note('It is answered');
      await send({ id: 6, method: 'tasks/continue', params: { taskId, inputResponses: { name: NAMED } } });
      second.open();
      await settle();
      note('It has ended');
      await send({ id: 7, method: 'tasks/continue', params: { taskId } });
    });
    return wire.page('One task in the drafts of March 2026');
  },
};

describe('the recorded runs', () => {
  test.each(Object.entries(recordings))('of %s are as they would be now', async (revision, make) => {
    const file = path.join(RUNS, `${revision}.md`);
    const page = await make();
    if (process.env['ERRAND_MAKE_DOCS'] !== undefined) {
      mkdirSync(RUNS, { recursive: true });
      writeFileSync(file, page);
    } else expect(readFileSync(file, 'utf8'), 'npm run docs records it anew').toBe(page);
  });
});
