import type { Scenario } from '../scenario.ts';

/** Paused between two steps, and resumed when the run has been let go of. */
const lunch: Scenario = {
  name: 'lunch',
  options: { task: 'always' },
  async handler({ task, step, subtask }) {
    await step('morning');
    task.status('1 of 2');
    const help = subtask('help', 'part');
    for (const hour of ['ten', 'eleven', 'twelve', 'one']) await step(hour, { lasts: 25 });
    await help;
    task.status('2 of 2');
    await step('afternoon');
    return 'a whole day';
  },
  pauses: { at: '1 of 2', lasts: 1400 },
  end: 'completed: a whole day',
};

/** Told what to do on the way, at once and when it has been parked. */
const wheel: Scenario = {
  name: 'wheel',
  options: { task: 'always' },
  async handler({ task, step, hear, sleep }) {
    task.status('1 of 3');
    const turns = [await hear('left')];
    await step('turn left');
    task.status('2 of 3');
    const right = hear('right');
    await sleep('30ms');
    turns.push(await right);
    await step('turn right');
    return turns.join(', ');
  },
  tells: { '1 of 3': 'left', '2 of 3': 'right' },
  end: 'completed: left, right',
};

/** Called again and again under one key: one task. */
const order: Scenario = {
  name: 'order',
  options: { task: 'always' },
  async handler({ step, uuid }) {
    uuid();
    await step('pay');
    await step('ship', { lasts: 40 });
    return 'shipped once';
  },
  keyed: true,
  end: 'completed: shipped once',
};

/** The same where the call is answered at once: its result is kept, too. */
const coin: Scenario = {
  name: 'coin',
  options: { task: 'auto', patience: '5s' },
  async handler({ step }) {
    await step('toss', { lasts: 20 });
    return 'tossed once';
  },
  keyed: true,
  end: 'completed: tossed once',
};

/** Fails as a whole, and is tried again from the step that failed. */
const again: Scenario = {
  name: 'again',
  options: { task: 'always', retry: { attempts: 10, backoff: 30, maxBackoff: 60 } },
  async handler({ step }) {
    await step('before');
    await step('jams', { until: 3 });
    await step('after');
    return 'came through';
  },
  end: 'completed: came through',
};

export const CONTROL: readonly Scenario[] = [lunch, wheel, order, coin, again];
