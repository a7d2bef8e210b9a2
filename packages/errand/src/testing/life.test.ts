import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { newTask, settled } from '../stores/suite/subject.suite.ts';
import { memory } from '../stores/memory.ts';
import { describe as tell } from '../task/transitions.ts';
import { beginLife } from './life.ts';
import { virtualClock } from './virtual-clock.ts';

async function begun() {
  const clock = virtualClock();
  const store = memory({ clock: clock.now });
  await store.open();
  onTestFinished(() => store.close());
  return { clock, store, life: beginLife(store, clock) };
}

describe('the end of a life', () => {
  it('keeps out of the store what is not committed, and leaves what is', async () => {
    const { store, life } = await begun();
    const [kept, lost] = [newTask(store), newTask(store)];
    const committed = await life.store.create(() => ({ task: kept }));
    void life.store.create(() => ({ task: lost }));
    for (const change of [life.store.change, life.store.changeTree])
      void change(kept.id, (task) => ({ task: tell(task, 'too late', store.now()) }));
    life.end();
    void life.store.change(kept.id, (task) => ({ task: tell(task, 'later still', store.now()) }));
    await settled();
    expect(await store.read(lost.id)).toBeUndefined();
    expect(await store.read(kept.id)).toEqual(committed);
  });

  it('lets nobody hear of what was committed, nor of what fails', async () => {
    const { store, life } = await begun();
    const task = newTask(store);
    const hear = vi.fn();
    life.store.subscribe(hear);
    const create = life.store.create(() => {
      life.end(); // after the last moment to stop the commit, and before its answer
      return { task };
    });
    for (const answer of [create, life.store.change('none', hear), life.store.read('none')]) answer.then(hear, hear);
    await settled();
    expect(await store.read(task.id)).toEqual(task);
    await store.close();
    life.store.read(task.id).then(hear, hear);
    await settled();
    expect(hear).not.toHaveBeenCalled();
  });

  it('lets no timer ring, and none be set', async () => {
    const { clock, life } = await begun();
    const ring = vi.fn();
    const arm = (): void => {
      life.clock.after(1000, ring);
      life.clock.after(0, ring);
      life.clock.every(1000, ring);
    };
    arm();
    life.end();
    arm();
    await life.look();
    await clock.advance('1h');
    expect(ring).not.toHaveBeenCalled();
    expect(await clock.advanceToNext()).toBe(false);
  });

  it('is not waited for by the clock', async () => {
    const { clock, life } = await begun();
    life.clock.busy({});
    life.end();
    const looks = vi.spyOn(globalThis, 'setTimeout');
    await clock.advance('1h');
    expect(looks).not.toHaveBeenCalled();
    looks.mockRestore();
  });
});

describe('a life', () => {
  it('looks when it is told to, beside when it is time', async () => {
    const { clock, life } = await begun();
    const look = vi.fn();
    const stop = life.clock.every(1000, look);
    await life.look();
    expect(look).toHaveBeenCalledTimes(1);
    await clock.advance('1s');
    expect(look).toHaveBeenCalledTimes(2);
    stop();
    await life.look();
    expect(look).toHaveBeenCalledTimes(2);
  });

  it('hands the tasks on only to a life that has opened the store anew', async () => {
    const { clock, store, life } = await begun();
    const [first, second] = [vi.fn(), vi.fn()];
    const giveUp = life.store.own(first);
    life.end();
    giveUp();
    await store.close();
    const next = beginLife(store, clock);
    await next.store.open();
    next.store.own(second);
    expect(first).toHaveBeenCalledOnce();
    expect(second).toHaveBeenCalledOnce();
  });
});
