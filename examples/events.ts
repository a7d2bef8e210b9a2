// Everything that happens to a task is in its log, numbered. A reader is told what happened and then what happens;
// one that went away reads on from the number that it knows.
import assert from 'node:assert/strict';
import { testErrand, virtualClock } from 'errand/testing';
import * as z from 'zod';

const clock = virtualClock();
let outOfPaper = true;

const t = await testErrand({ clock }, (errand) => {
  errand.tool('print', { task: 'always', deadline: '7d' }, async (_, task) => {
    await task.step(
      'print',
      () => {
        if (outOfPaper) throw new Error('out of paper');
      },
      { retry: { attempts: 3, backoff: '10s' } },
    );
    const form = { message: 'Send it?', schema: z.object({ to: z.string() }) };
    const { action, content } = await task.elicit('send', form);
    if (action !== 'accept') return 'printed';
    await task.sleep('1d');
    return `printed, and sent to ${content.to}`;
  });
});

const task = await t.client.begin('print');
await clock.settle();
outOfPaper = false;

let known = -1;
const lines: string[] = [];
const kinds: string[] = [];

/** Goes on from what is known of the log, until the task has ended, or until the reader has seen enough. */
async function follow(enough?: string): Promise<void> {
  for await (const { seq, at, kind, ...more } of t.errand.events(task, { after: known })) {
    known = seq;
    kinds.push(kind);
    const time = new Date(at).toISOString().slice(5, 19).replace('T', ' ');
    const details = Object.entries(more).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    lines.push([String(seq).padStart(3), time, kind, ...details].join('  '));
    if (kind === enough) return;
  }
}

const first = follow('asked');
await clock.advance('1h');
await first;
lines.push('     the reader goes away, the server is killed, and a day later somebody answers');
await t.crash();
await t.restart();
await clock.advance('1d');
await t.client.answer(task, { send: { action: 'accept', content: { to: 'Ann' } } });
const second = follow();
await t.client.until(task, 'completed');
await second;
await t.close();

console.log(lines.join('\n'));
assert.deepEqual([kinds[0], kinds.at(-1)], ['created', 'ended']);
for (const kind of ['step_begun', 'step_retried', 'step_ended', 'asked', 'parked', 'answered', 'slept'])
  assert(kinds.includes(kind), kind);
