// What a task took must be given back however the task ends: with its result, by a cancel in the middle of a crash, or at
// its deadline. `onEnd` does it, in a run of its own, whose steps are recorded and tried again like those of a handler.
import assert from 'node:assert/strict';
import { testErrand, virtualClock } from 'errand/testing';
import * as z from 'zod';

const clock = virtualClock();
const log: string[] = [];
const say = (what: string) => void log.push(`${new Date(clock.now()).toISOString().slice(11, 16)} ${what}`);
/** Machines that are rented, under the ids of the tasks that they are for. */
const rented = new Set<string>();

const t = await testErrand({ clock }, (errand) => {
  errand.tool(
    'render',
    {
      inputSchema: z.object({ film: z.string(), hours: z.number() }),
      task: 'always',
      deadline: '8h',
      async onEnd({ status, arguments: { film } }, task) {
        await task.step('give back', () => {
          rented.delete(task.id);
          say(`gives back the machine for ${film as string}, which is ${status}`);
        });
      },
    },
    async ({ film, hours }, task) => {
      await task.step('rent', () => {
        rented.add(task.id);
        say(`rents a machine for ${film}`);
      });
      await task.sleep(hours * 3_600_000);
      return `${film} is rendered`;
    },
  );
});

await t.client.run('render', { film: 'Short', hours: 1 });
await clock.settle();

const boring = await t.client.begin('render', { film: 'Boring', hours: 5 });
await clock.advance('1h');
await t.client.cancel(boring);
say('Boring is cancelled, and the server is killed');
await t.crash();
await t.restart();
await clock.settle();

const endless = await t.client.begin('render', { film: 'Endless', hours: 7 });
await clock.settle();
await t.crash();
say('the server is down until noon');
await clock.advance('10h');
await t.restart();
await clock.settle();
const { status } = await t.client.read(endless);
await t.close();

console.log(log.join('\n'));
assert.equal(status, 'failed');
assert.equal(rented.size, 0);
assert.equal(log.filter((line) => line.includes('gives back')).length, 3);
