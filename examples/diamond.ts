// A release in four subtasks: build, then lint and test side by side, then publish after both. The server is killed
// on the way, and nothing is done twice. And where the tests are red, nothing is published.
import assert from 'node:assert/strict';
import { SubtaskError, type Errand } from 'errand';
import { testErrand, virtualClock } from 'errand/testing';
import * as z from 'zod';

const clock = virtualClock();
const log: string[] = [];
const inputSchema = z.object({ version: z.string() });

/** A tool that takes its time. */
function part(errand: Errand, name: string, minutes: number): void {
  errand.tool(name, { inputSchema }, async ({ version }, task) => {
    await task.sleep(minutes * 60_000);
    await task.step(name, () => {
      log.push(`${new Date(clock.now()).toISOString().slice(11, 16)} ${name} ${version}`);
      if (name === 'test' && version.endsWith('beta')) throw new Error('2 tests are red');
    });
    return `${name} of ${version} is done`;
  });
}

const t = await testErrand({ clock }, (errand) => {
  part(errand, 'build', 10);
  part(errand, 'lint', 5);
  part(errand, 'test', 20);
  part(errand, 'publish', 1);
  errand.tool('release', { inputSchema, task: 'always' }, async ({ version }, task) => {
    task.subtask('build', 'build', { version });
    const lint = task.subtask('lint', 'lint', { version }, { after: 'build' });
    const test = task.subtask('test', 'test', { version }, { after: 'build' });
    const publish = task.subtask('publish', 'publish', { version }, { after: ['lint', 'test'] });
    try {
      await Promise.all([lint, test]);
      return await publish;
    } catch (error) {
      if (!(error instanceof SubtaskError)) throw error;
      return `not released: ${error.message}`;
    }
  });
});

const release = async (version: string, moments: () => Promise<void>): Promise<string> => {
  const id = await t.client.begin('release', { version });
  await moments();
  const { result } = (await t.client.until(id, 'completed')) as { result: { content: [{ text: string }] } };
  return result.content[0].text;
};

const good = await release('1.0', async () => {
  await clock.advance('20m'); // built and linted; the tests are under way
  log.push('      the server is killed, and started again');
  await t.crash();
  await t.restart();
});
const bad = await release('1.1-beta', async () => {});
await t.close();

console.log(log.join('\n'));
console.log(`\n${good}\n${bad}`);
assert.equal(good, 'publish of 1.0 is done');
assert.equal(bad, 'not released: subtask "test" failed: 2 tests are red');
const parts = (version: string) => log.filter((line) => line.endsWith(version)).map((line) => line.split(' ')[1]);
assert.deepEqual(parts('1.0'), ['build', 'lint', 'test', 'publish']);
assert.deepEqual(parts('1.1-beta'), ['build', 'lint', 'test']);
