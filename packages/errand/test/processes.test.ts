import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../src/json.ts';
import { PLAIN_CLIENT } from './fixtures/frames.ts';
import { temporaryFolder } from './fixtures/served.ts';
import { serverProcess } from './fixtures/server-process.ts';
import { stdioWire, type StdioWire } from './fixtures/stdio-wire.ts';
import { accept, textOf, wireClient } from './fixtures/wire.ts';

type Client = ReturnType<typeof wireClient>;

/** Some servers that start at once on one new file; the one that owns its tasks comes first. */
async function servers(count: number) {
  const folder = await temporaryFolder();
  const [file, log] = [path.join(folder, 'tasks.db'), path.join(folder, 'effects.log')];
  const start = async () => {
    const { url, kill } = await serverProcess('shared-server.ts', file, log);
    const client = wireClient(url);
    return { ...client, kill, pid: textOf(await client.call('me')) };
  };
  const started = await Promise.all(Array.from({ length: count }, start));
  const pid = await owner(started[0]!);
  return {
    servers: started.toSorted((a, b) => Number(b.pid === pid) - Number(a.pid === pid)),
    start,
    /** The effects so far, each with the process that had it. */
    effects: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
  };
}

/** Who runs the calls of a server. */
const owner = async ({ call }: Pick<Client, 'call'>) => textOf(await call('who'));
const soon = (effects: () => string[]) => expect.poll(effects, { timeout: 15_000, interval: 10 });

describe('several processes on one file', { timeout: 60_000 }, () => {
  test('that start at once have one owner, which runs the calls of all', async () => {
    const { servers: all } = await servers(4);
    const answers = await Promise.all(all.flatMap((server) => [owner(server), owner(server)]));
    expect(new Set(answers)).toEqual(new Set([all[0]!.pid]));
    expect(new Set(all.map(({ pid }) => pid)).size).toBe(4);
  });

  test('answer quick calls with results and slow ones with tasks, whichever is asked (CASES 31)', async () => {
    const {
      servers: [first, second],
    } = await servers(2);
    const { pid } = first!;
    expect(await second!.call('who')).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: pid }] });

    const id = await second!.begin('slow', { label: 'x' });
    expect(textOf(await second!.ended(id))).toBe(`x by ${pid}`);
    const plain = { capabilities: PLAIN_CLIENT };
    expect(textOf(await second!.call('slow', { label: 'held' }, plain))).toBe(`held by ${pid}`);
  });

  test('read the tasks of the same principal in each of them (CASES 2)', async () => {
    const {
      servers: [first, second],
    } = await servers(2);
    const id = await first!.begin('build', { label: 'x' });
    const ended = await second!.ended(id);
    expect(textOf(ended)).toBe('x: 1+4+9+16');
    expect(await first!.get(id)).toEqual(ended);
  });

  test('take an answer in one to the run in another (CASES 18)', async () => {
    const {
      servers: [first, second],
      effects,
    } = await servers(2);
    const { pid } = first!;
    // A run that waits in memory, and one that was let go of.
    for (const [label, wait] of [
      ['quick', 0],
      ['parked', 1500],
    ] as const) {
      const id = await first!.begin('sign', { label });
      await first!.asked(id, 'signature');
      await new Promise((resolve) => setTimeout(resolve, wait));
      await second!.update(id, { signature: accept({ name: 'Ada' }) });
      expect(textOf(await first!.ended(id))).toBe(`${label} signed by Ada`);
    }
    expect(effects()).toEqual([`quick signed by ${pid}`, `parked signed by ${pid}`]);
  });

  test('ask a held call of one its question, and take the answer there', async () => {
    const {
      servers: [, second],
    } = await servers(2);
    const plain = { capabilities: PLAIN_CLIENT };
    const asked = await second!.call('sign', { label: 'x' }, plain);
    expect(asked).toMatchObject({ resultType: 'input_required', inputRequests: { signature: {} } });
    const { requestState } = asked;
    const answered = await second!.result(
      'tools/call',
      {
        name: 'sign',
        arguments: { label: 'x' },
        requestState,
        inputResponses: { signature: accept({ name: 'Bob' }) },
      } as JsonObject,
      plain,
    );
    expect(textOf(answered)).toBe('x signed by Bob');
  });

  test('let a cancel in one abort the run in another', async () => {
    const {
      servers: [first, second],
      effects,
    } = await servers(2);
    const { pid } = first!;
    const id = await first!.begin('endless', { label: 'x' });
    await soon(effects).toEqual([`x begins by ${pid}`]);
    await second!.cancel(id);
    await soon(effects).toEqual([`x begins by ${pid}`, `x is aborted by ${pid}`]);
    expect(await first!.get(id)).toMatchObject({ status: 'cancelled' });
  });

  test('end the work of a call whose client goes away before it was told of a task', async () => {
    const {
      servers: [first, second],
      effects,
    } = await servers(2);
    const { pid } = first!;
    const gone = new AbortController();
    const call = second!.call('endless', { label: 'x' }, { capabilities: PLAIN_CLIENT, signal: gone.signal });
    await soon(effects).toEqual([`x begins by ${pid}`]);
    gone.abort();
    await expect(call).rejects.toThrow();
    await soon(effects).toContain(`x is aborted by ${pid}`);
  });

  test('tell subscribers in one, soon, what happens in another', async () => {
    const {
      servers: [first, second],
    } = await servers(2);
    const id = await first!.begin('sign', { label: 'x' });
    await first!.asked(id, 'signature');
    const listening = await second!.listen([id]);
    await first!.update(id, { signature: accept({ name: 'Ada' }) });
    await listening.next(({ params }) => params?.['status'] === 'completed');
    listening.close();
  });

  test('go on when the owner is killed: one takes over, and no effect is had twice', async () => {
    const {
      servers: [first, second, third],
      effects,
      start,
    } = await servers(3);
    const { pid } = first!;
    const labels = ['a', 'b', 'c'];
    const ids = await Promise.all(labels.map((label) => second!.begin('build', { label })));
    const asking = await third!.begin('sign', { label: 's' });
    const paying = await first!.begin('pay', { label: 'p' });
    const held = third!.call('slow', { label: 'held' }, { capabilities: PLAIN_CLIENT });
    await third!.asked(asking, 'signature');
    await soon(() => (effects().filter((effect) => effect.includes('ends 2')).length > 0 ? ['yes'] : [])).toEqual([
      'yes',
    ]);
    await first!.kill();
    await third!.update(asking, { signature: accept({ name: 'Ada' }) });

    for (const [index, label] of labels.entries()) {
      expect(textOf(await third!.ended(ids[index]!))).toBe(`${label}: 1+4+9+16`);
    }
    expect(textOf(await second!.ended(asking))).toBe('s signed by Ada');
    expect(textOf(await second!.ended(paying))).toBe('p: StepUnknown');
    const successor = await owner(second!);
    expect(textOf(await held)).toBe(`held by ${successor}`);
    expect(successor).not.toBe(pid);
    expect(await owner(third!)).toBe(successor);

    const all = effects();
    for (const label of labels) {
      const begun = all.filter((effect) => effect.startsWith(`${label} begins`));
      expect(begun.length).toBeGreaterThanOrEqual(4);
      // What was recorded is not had again: at most the step that ran when its process died has begun twice.
      expect(begun.length).toBeLessThanOrEqual(5);
    }
    expect(all.filter((effect) => effect.startsWith('p pays'))).toEqual([`p pays by ${pid}`]);
    expect(all.filter((effect) => effect.startsWith('s signed'))).toHaveLength(1);

    // Whoever comes later is a front end of the successor.
    expect(await owner(await start())).toBe(successor);
  });

  test('that hosts start over stdio share their tasks; when the first host goes, the second goes on', async () => {
    const file = path.join(await temporaryFolder(), 'tasks.db');
    const first = await stdioWire(file);
    const second = await stdioWire(file);
    const result = async (wire: StdioWire, method: string, params: JsonObject) => {
      const message = await wire.request(method, params);
      if (!('result' in message)) throw new Error(JSON.stringify(message));
      return message.result;
    };
    const call = (wire: StdioWire, name: string, args: JsonObject) =>
      result(wire, 'tools/call', { name, arguments: args });
    expect(textOf(await call(first, 'echo', { text: 'one' }))).toBe('one');
    expect(textOf(await call(second, 'echo', { text: 'two' }))).toBe('two');

    const taskId = (await call(second, 'publish', { page: 'home' }))['taskId'] as string;
    const isAsked = async () => (await result(first, 'tasks/get', { taskId })).status;
    await expect.poll(isAsked, { timeout: 15_000 }).toBe('input_required');
    await first.leave();
    await result(second, 'tasks/update', { taskId, inputResponses: { approve: accept({ go: true }) } });
    const hasEnded = async () => (await result(second, 'tasks/get', { taskId })).status;
    await expect.poll(hasEnded, { timeout: 15_000 }).toBe('completed');
    expect(textOf(await call(second, 'echo', { text: 'three' }))).toBe('three');
  });
});
