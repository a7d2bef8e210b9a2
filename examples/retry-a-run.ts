// A tool whose whole run is tried again later where it fails for a passing reason. What is recorded stays: only the
// step that failed is run again, also after a crash. What fails for another reason is told at once.
import assert from 'node:assert/strict';
import { testErrand, virtualClock } from 'errand/testing';
import * as z from 'zod';

const clock = virtualClock();
const log: string[] = [];
const say = (what: string) => void log.push(`${new Date(clock.now()).toISOString().slice(11, 16)} ${what}`);
let jams = 3;
type Answer = { content: [{ text: string }]; isError?: boolean };

const t = await testErrand({ clock }, (errand) => {
  errand.tool(
    'invoice',
    {
      inputSchema: z.object({ customer: z.string() }),
      task: 'always',
      retry: { attempts: 5, backoff: '10m', maxBackoff: '1h', when: ({ message }) => message === 'paper jam' },
    },
    async ({ customer }, task) => {
      const total = await task.step('add up', () => {
        say(`add up what ${customer} owes`);
        return customer.length * 100;
      });
      await task.step('print', () => {
        if (customer === 'nobody') throw new Error('there is no address');
        if (jams-- > 0) {
          say('paper jam');
          throw new Error('paper jam');
        }
        say('print');
      });
      return `${customer} pays ${total}`;
    },
  );
});

const invoice = await t.client.begin('invoice', { customer: 'Ann' });
await clock.settle();
say('the server is killed, and started again');
await t.crash();
await t.restart();
const { result } = (await t.client.until(invoice, 'completed')) as { result: Answer };
const hopeless = (await t.client.run('invoice', { customer: 'nobody' })) as unknown as Answer;
await t.close();

console.log(log.join('\n'));
console.log(`${result.content[0].text}; ${hopeless.content[0].text}`);
assert.equal(result.content[0].text, 'Ann pays 300');
assert.deepEqual([hopeless.content[0].text, hopeless.isError], ['there is no address', true]);
assert.deepEqual(
  log.map((line) => line.slice(6)),
  [
    'add up what Ann owes',
    'paper jam',
    'the server is killed, and started again',
    'paper jam',
    'paper jam',
    'print',
    'add up what nobody owes',
  ],
);
