import { pino } from 'pino';
import { expect, test } from 'vitest';
import { memory } from '../../stores/memory.ts';
import { newTask } from '../../stores/suite/subject.suite.ts';
import { virtualClock } from '../../testing/virtual-clock.ts';
import { Agenda } from './agenda.ts';

test('a task whose replay is slow rests ten times as long, also while the time of the store stands still', async () => {
  const clock = virtualClock();
  const store = memory({ clock: () => 1_000_000 });
  await store.open();
  const ran: number[] = [];
  const agenda = new Agenda(store, clock, pino({ level: 'silent' }), {
    has: () => false,
    run: () => void ran.push(clock.elapsed()),
  });
  const task = newTask(store);
  agenda.rest(task.id, 100);
  agenda.hear(task);
  await clock.advance(999);
  expect(ran).toEqual([]);
  await clock.advance(1);
  expect(ran).toEqual([1000]);
  agenda.hear(task);
  expect(ran).toEqual([1000, 1000]);
  await store.close();
});

test('a task rests as long where the store is scanned meanwhile', async () => {
  const clock = virtualClock();
  const store = memory({ clock: clock.now });
  await store.open();
  const ran: number[] = [];
  const agenda = new Agenda(store, clock, pino({ level: 'silent' }), {
    has: () => false,
    run: () => void ran.push(clock.elapsed()),
  });
  const stop = await agenda.open();
  const task = newTask(store);
  agenda.rest(task.id, 300);
  await clock.advance(2500);
  agenda.hear(task);
  await clock.advance(499);
  expect(ran).toEqual([]);
  await clock.advance(1);
  expect(ran).toEqual([3000]);
  stop();
  await store.close();
});
