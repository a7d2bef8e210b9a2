// A handler that sleeps for a month, tested in a moment on a virtual clock, with a crash on the way.
import assert from 'node:assert/strict';
import { testErrand, virtualClock } from 'errand/testing';
import * as z from 'zod';

const clock = virtualClock();
const sent: string[] = [];

const t = await testErrand({ clock }, (errand) => {
  errand.tool(
    'remind',
    { inputSchema: z.object({ what: z.string() }), task: 'always', deadline: '60d' },
    async ({ what }, task) => {
      const send = (text: string) => () => {
        sent.push(`${new Date(clock.now()).toISOString().slice(0, 10)} ${text}`);
      };
      await task.step('confirm', send(`noted: ${what}`));
      await task.sleep('30d');
      const { action } = await task.elicit('done', {
        message: `${what}: done?`,
        schema: z.object({}),
        timeout: '7d',
      });
      if (action === 'accept') return 'well done';
      await task.step('nag', send(`still to do: ${what}`));
      return 'nagged';
    },
  );
});

const started = performance.now();
const task = await t.client.begin('remind', { what: 'water the plants' });

await clock.advance('10d');
await t.crash(); // as kill -9 would
await clock.advance('5d');
await t.restart(); // over the same store

await clock.advance('14d');
assert.equal((await t.client.read(task))['status'], 'working');
await clock.advance('1d');
assert.equal((await t.client.read(task))['status'], 'input_required');
await t.client.answer(task, { done: { action: 'decline' } });

// Lets time pass until then, as far as it takes.
const { result } = (await t.client.until(task, 'completed')) as { result: { content: unknown } };
await t.close();

console.log(sent.join('\n'));
console.log(`30 days in ${Math.round(performance.now() - started)} ms`);
assert.deepEqual(result.content, [{ type: 'text', text: 'nagged' }]);
assert.deepEqual(sent, ['2026-01-01 noted: water the plants', '2026-01-31 still to do: water the plants']);
