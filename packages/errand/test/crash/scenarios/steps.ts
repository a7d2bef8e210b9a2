import type { Scenario } from '../scenario.ts';

/** Steps one after the other, with a text that tells how far it is. */
const press: Scenario = {
  name: 'press',
  options: { task: 'always' },
  async handler({ task, step }) {
    for (const [index, name] of ['write', 'print', 'deliver'].entries()) {
      task.status(`${index + 1} of 3`);
      await step(name);
    }
    return 'written, printed and delivered';
  },
  end: 'completed: written, printed and delivered',
};

/** Steps that fail: one comes right in the end, one never does. */
const stubborn: Scenario = {
  name: 'stubborn',
  options: { task: 'always' },
  async handler({ step }) {
    await step('comes right', { fails: 2, retry: { attempts: 3, backoff: 5 } });
    const why = await step('never', { fails: 9, retry: { attempts: 2, backoff: 5 } }).catch((error: Error) => error);
    await step('mend');
    return `mended what said "${(why as Error).message}"`;
  },
  end: 'completed: mended what said "not yet"',
};

/** An effect that must not take place twice. Where nobody knows whether it did, the world outside is asked. */
const till: Scenario = {
  name: 'till',
  options: { task: 'always' },
  async handler({ step, once, lookUp }) {
    await step('reserve');
    const charged = (await once('charge', 30)) !== undefined || (await lookUp('charge'));
    await step('tell');
    return charged ? 'charged' : 'not charged';
  },
  end: 'completed: charged',
  otherEnds: { 'completed: not charged': 'killed after the begin was kept and before the effect' },
};

/** Branches of different length that meet again. */
const fork: Scenario = {
  name: 'fork',
  options: { task: 'always' },
  async handler({ step }) {
    const branch = async (name: string) => {
      await step(name, { lasts: 15 });
      await step(`${name} again`, { lasts: 5 });
      return name;
    };
    const parts = await Promise.all([step('short', { lasts: 5 }).then(() => 'short'), branch('left'), branch('right')]);
    await step('join');
    return parts.join(' ');
  },
  end: 'completed: short left right',
};

/** Whoever is first decides what comes next, in every run again. */
const race: Scenario = {
  name: 'race',
  options: { task: 'always' },
  async handler({ step, seen }) {
    const runner = (name: string) => step(name, { lasts: 20 }).then(() => name);
    const winner = await Promise.race([runner('one'), runner('two')]);
    await step(`crown ${winner}`);
    const first = seen.find(([, name]) => name === 'one' || name === 'two')!;
    return first[1] === winner ? 'the first one was crowned' : `${winner} was crowned, but ${first[1]} was first`;
  },
  end: 'completed: the first one was crowned',
};

/** Must not be run twice, so a kill ends it. */
const fragile: Scenario = {
  name: 'fragile',
  options: { task: 'always', replay: false },
  async handler({ step, mark }) {
    mark('run');
    await step('a', { lasts: 20 });
    await step('b', { lasts: 20 });
    return 'ran once';
  },
  end: 'completed: ran once',
  otherEnds: { 'failed: -31011': 'interrupted, and the tool is not replayed' },
};

export const STEPS: readonly Scenario[] = [press, stubborn, till, fork, race, fragile];
