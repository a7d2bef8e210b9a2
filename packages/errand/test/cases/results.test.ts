import { appendFile, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { cutRequest } from '../fixtures/cut.ts';
import { frame, TASK_CLIENT, TASKS } from '../fixtures/frames.ts';
import { gate } from '../fixtures/gate.ts';
import { served, temporaryFolder } from '../fixtures/served.ts';
import { serverProcess } from '../fixtures/server-process.ts';
import { textOf, wireClient } from '../fixtures/wire.ts';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('CASES Results', { timeout: 60_000 }, () => {
  test('11: a tool result with isError is completed with exactly that result', async () => {
    const failed = { content: [{ type: 'text', text: 'disk full' }], structuredContent: { free: 0 }, isError: true };
    const { url } = await served((errand) => {
      errand.tool('copy', { task: 'always' }, () => failed);
    });
    const client = wireClient(url);
    const task = await client.ended(await client.begin('copy'));
    expect(task['status']).toBe('completed');
    expect(task).not.toHaveProperty('error');
    expect(task['result']).toMatchObject(failed);
  });

  test('12: finishing after an acknowledged cancel changes nothing', async () => {
    const work = gate();
    const finished = gate();
    const { url } = await served((errand) => {
      errand.tool('stubborn', { task: 'always' }, async () => {
        await work.opened;
        setTimeout(finished.open, 0);
        return 'done all the same';
      });
    });
    const client = wireClient(url);
    const taskId = await client.begin('stubborn');
    await client.cancel(taskId);
    const cancelled = await client.get(taskId);
    expect(cancelled).toMatchObject({ status: 'cancelled' });
    expect(cancelled).not.toHaveProperty('result');
    work.open();
    await finished.opened;
    await sleep(100);
    expect(await client.get(taskId)).toEqual(cancelled);
  });

  test('12: cancelling after completion or failure leaves the first end and its payload', async () => {
    const server = await served((errand) => {
      errand.tool('fine', { task: 'always' }, () => 'fine');
      errand.tool('thrown', { task: 'always' }, () => {
        throw new Error('out of paper');
      });
    });
    const client = wireClient(server.url);
    for (const tool of ['fine', 'thrown']) {
      const taskId = await client.begin(tool);
      const ended = await client.ended(taskId);
      await client.cancel(taskId);
      expect(await client.get(taskId)).toEqual(ended);
    }
  });

  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '13: %s without the declared extension answers -32021 and what is missing, known id or not',
    async (method) => {
      const { url } = await served((errand) => {
        errand.tool('fine', { task: 'always' }, () => 'fine');
      });
      const client = wireClient(url);
      const known = await client.begin('fine');
      for (const taskId of [known, 'no-such-task']) {
        const params = { taskId, ...(method === 'tasks/update' && { inputResponses: {} }) };
        const { status, error } = await client.send(method, params, { capabilities: {} });
        expect(status).toBe(400);
        expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } });
      }
    },
  );

  test('14: when the connection is cut while a finished task is read, the next read has it all', async () => {
    const large = 'x'.repeat(3_000_000);
    const { url } = await served((errand) => {
      errand.tool('large', { task: 'always' }, () => large);
    });
    const client = wireClient(url);
    const taskId = await client.begin('large');
    await client.ended(taskId);

    for (let cut = 0; cut < 3; cut++)
      await cutRequest(url, frame(cut, 'tasks/get', { taskId }, TASK_CLIENT), 'answered');
    expect(textOf(await client.get(taskId))).toHaveLength(large.length);
  });

  test('15: a task of a killed server resumes from its journal and ends as if nothing had happened', async () => {
    const folder = await temporaryFolder();
    const [file, log] = [path.join(folder, 'tasks.db'), path.join(folder, 'effects.log')];
    await appendFile(log, '');
    const effects = async () => (await readFile(log, 'utf8')).split('\n');

    let server = await serverProcess('recovery-server.ts', file, log);
    const untouched = wireClient(server.url);
    const reference = await untouched.ended(await untouched.begin('build', { label: 'page' }));
    const effectsOfReference = (await effects()).filter((line) => line.includes(' ends ')).length;
    expect(effectsOfReference).toBe(4);

    const taskId = await untouched.begin('build', { label: 'book' });
    for (const kill of ['book begins 2', 'book begins 4']) {
      while (!(await effects()).includes(kill)) await sleep(10);
      await server.kill();
      server = await serverProcess('recovery-server.ts', file, log);
    }
    const resumed = await wireClient(server.url).ended(taskId);
    expect(resumed).toMatchObject({ taskId, status: 'completed' });
    expect(textOf(resumed)).toBe(textOf(reference).replace('page', 'book'));
    // A step that had ended before the kill did not run again; the two that were cut did.
    const begun = [1, 2, 3, 4].map((n) => effectsCount(n));
    expect(await Promise.all(begun)).toEqual([1, 2, 1, 2]);

    async function effectsCount(n: number) {
      return (await effects()).filter((line) => line === `book begins ${n}`).length;
    }
  });

  test('15: a killed run that cannot be replayed fails and says why, and does not work for ever', async () => {
    const folder = await temporaryFolder();
    const [file, log] = [path.join(folder, 'tasks.db'), path.join(folder, 'effects.log')];
    await appendFile(log, '');
    let server = await serverProcess('recovery-server.ts', file, log);
    const taskId = await wireClient(server.url).begin('build_once', { label: 'vase' });
    while (!(await readFile(log, 'utf8')).includes('vase begins 2')) await sleep(10);
    await server.kill();
    server = await serverProcess('recovery-server.ts', file, log);
    const task = await wireClient(server.url).ended(taskId);
    expect(task).toMatchObject({ status: 'failed', statusMessage: expect.stringMatching(/interrupted/i) });
    expect((await readFile(log, 'utf8')).split('vase begins 1')).toHaveLength(2);
  });
});
