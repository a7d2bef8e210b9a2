import type { Scenario } from '../scenario.ts';

/** Done before anybody loses patience: there is nothing to lose. */
const quick: Scenario = {
  name: 'quick',
  options: { task: 'auto', patience: '5s' },
  async handler({ step }) {
    await step('a', { lasts: 5 });
    await step('b', { lasts: 5 });
    return 'at once';
  },
  end: 'completed: at once',
};

/** Becomes a task when patience runs out, with the journal that it has by then. */
const slow: Scenario = {
  name: 'slow',
  options: { task: 'auto', patience: '40ms' },
  async handler({ step }) {
    for (const name of ['a', 'b', 'c', 'd']) await step(name, { lasts: 25 });
    return 'took its time';
  },
  end: 'completed: took its time',
};

/** Cancelled while a step runs and a question is open. */
const unwanted: Scenario = {
  name: 'unwanted',
  options: { task: 'always' },
  async handler({ task, step, ask }) {
    const asked = ask('never');
    await step('first');
    task.status('1 of 1');
    await step('long', { lasts: 150 });
    return asked;
  },
  cancelsAt: '1 of 1',
  end: 'cancelled',
};

/** Not done by its deadline; then it vanishes when its time has come, and not before. */
const overdue: Scenario = {
  name: 'overdue',
  options: { task: 'always', deadline: '500ms', retention: '900ms' },
  async handler({ step, ask }) {
    await step('begin');
    return ask('too late');
  },
  outlives: true,
  end: 'failed: -31010',
  otherEnds: { vanished: 'it ended and vanished while nobody could see it' },
};

export const LIVES: readonly Scenario[] = [quick, slow, unwanted, overdue];
