// A task that paints fences is paused while it rains, told another colour meanwhile, and resumed. The server is killed
// in the rain; the task stays paused, and what it was told is not lost.
import assert from 'node:assert/strict';
import { testErrand, virtualClock } from 'errand/testing';
import * as z from 'zod';

const clock = virtualClock();
const log: string[] = [];
const say = (what: string) => void log.push(`${new Date(clock.now()).toISOString().slice(11, 16)} ${what}`);

const t = await testErrand({ clock }, (errand) => {
  errand.tool(
    'paint',
    { inputSchema: z.object({ fences: z.int() }), task: 'always', deadline: '7d' },
    async ({ fences }, task) => {
      let colour = 'white';
      // Goes on beside the work, and ends with it. In a replay each wish comes where it came the first time.
      void (async () => {
        for await (const wish of task.steering()) colour = (wish as { colour: string }).colour;
      })();
      for (let fence = 1; fence <= fences; fence++) {
        await task.step('paint', async () => {
          await clock.sleep('1h');
          say(`fence ${fence} is ${colour}`);
        });
      }
      return `painted ${fences} fences, the last one ${colour}`;
    },
  );
});

const task = await t.client.begin('paint', { fences: 4 });
await clock.advance('90m');

await t.errand.pause(task, 'rain');
say('it rains');
await clock.advance('2h'); // the fence under way is finished, and no other one is begun
const { status, statusMessage } = await t.client.read(task);

await t.crash();
await t.restart();
await t.errand.steer(task, { colour: 'green' });
say('green would be nicer');
await clock.advance('4h');

await t.errand.resume(task);
say('the sun is out');
const { result } = (await t.client.until(task, 'completed')) as { result: { content: [{ text: string }] } };
await t.close();

console.log(log.join('\n'));
console.log(result.content[0].text);
assert.deepEqual([status, statusMessage], ['working', 'paused: rain']);
assert.deepEqual(log, [
  '01:00 fence 1 is white',
  '01:30 it rains',
  '02:00 fence 2 is white',
  '03:30 green would be nicer',
  '07:30 the sun is out',
  '08:30 fence 3 is green',
  '09:30 fence 4 is green',
]);
assert.equal(result.content[0].text, 'painted 4 fences, the last one green');
