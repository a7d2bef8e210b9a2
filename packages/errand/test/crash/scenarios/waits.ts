import type { Scenario } from '../scenario.ts';

/** Two questions at once; the answer to the second comes when the run has been parked. */
const signature: Scenario = {
  name: 'signature',
  options: { task: 'always' },
  async handler({ ask, step }) {
    await Promise.all([ask('name').then(() => step('note')), ask('date')]);
    await step('file');
    return 'signed';
  },
  answers: { name: 20, date: 1300 },
  end: 'completed: signed',
};

/** Waits that a restart neither shortens nor lengthens, the last one parked; and values that are made once. */
const nap: Scenario = {
  name: 'nap',
  options: { task: 'always' },
  async handler({ now, uuid, step, sleep }) {
    uuid();
    await step('early');
    now();
    await sleep('40ms');
    uuid();
    await step('late');
    await sleep('1200ms');
    await step('last');
    return 'slept twice';
  },
  end: 'completed: slept twice',
};

/** A question that nobody answers in time. */
const unanswered: Scenario = {
  name: 'unanswered',
  options: { task: 'always' },
  async handler({ ask, step }) {
    const said = await ask('anybody', { timeout: '120ms' }).catch((error: Error) => error.name);
    await step('note');
    return said;
  },
  end: 'completed: InputTimeout',
};

/** A question that the handler takes back. */
const withdrawn: Scenario = {
  name: 'withdrawn',
  options: { task: 'always' },
  async handler({ ask, step }) {
    const stop = new AbortController();
    const asked = ask('anything', { signal: stop.signal }).catch((error: Error) => error.name);
    await step('decide alone', { lasts: 30 });
    stop.abort();
    const said = await asked;
    await step('note');
    return said;
  },
  end: 'completed: InputWithdrawn',
};

export const WAITS: readonly Scenario[] = [signature, nap, unanswered, withdrawn];
