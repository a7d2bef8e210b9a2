import type { Part, Scenario } from '../scenario.ts';

/** What subtasks do. */
export const PARTS: readonly Part[] = [
  {
    name: 'part',
    async handler({ step, sleep }, name) {
      await step(`${name} begins`, { lasts: 5 });
      await sleep('20ms');
      await step(`${name} ends`, { lasts: 5 });
      return name;
    },
  },
  {
    name: 'broken',
    async handler({ step }) {
      await step('tries');
      throw new Error('it does not work');
    },
  },
  {
    name: 'long',
    async handler({ step, sleep }) {
      await step('lies down');
      await sleep('1h');
      return 'rested';
    },
  },
  {
    name: 'asking',
    async handler({ step, ask }) {
      await step('prepares');
      await ask('approve');
      await step('goes on');
      return 'approved';
    },
  },
  {
    name: 'family',
    async handler({ task, step, subtask }, name) {
      const children = [subtask(`${name} 1`, 'part'), subtask(`${name} 2`, 'part')];
      task.subtask('unwatched', 'long', { name: 'unwatched' }, { onParentExit: 'cancel' });
      await step('looks on', { lasts: 5 });
      return (await Promise.all(children)).join(' and ');
    },
  },
];

/** Subtasks that run after others, some named before they are begun. */
const diamond: Scenario = {
  name: 'diamond',
  options: { task: 'always' },
  async handler({ subtask, step }) {
    const bottom = subtask('bottom', 'part', { after: ['left', 'right'] });
    const sides = [subtask('left', 'part', { after: 'top' }), subtask('right', 'part', { after: 'top' })];
    const top = subtask('top', 'part');
    await step('watch');
    return (await Promise.all([top, ...sides, bottom])).join(' ');
  },
  end: 'completed: top left right bottom',
};

/** Subtasks of subtasks; some are not waited for, and cancelled with their task. */
const generations: Scenario = {
  name: 'generations',
  options: { task: 'always' },
  async handler({ subtask, step }) {
    const [first, second] = [subtask('a', 'family'), subtask('b', 'family', { after: 'a' })];
    await step('tell', { lasts: 5 });
    return `${await first}; ${await second}`;
  },
  end: 'completed: a 1 and a 2; b 1 and b 2',
};

/** Subtasks that fail, that do not run therefore, that are cancelled, and that a task ends without. */
const rescue: Scenario = {
  name: 'rescue',
  options: { task: 'always' },
  async handler({ task, subtask, step }) {
    const doomed = subtask('doomed', 'part', { after: 'broken' }).catch(() => 'was not run');
    const broken = subtask('broken', 'broken').catch(() => 'broke');
    const unwanted = task.subtask('unwanted', 'long', { name: 'unwanted' });
    task.subtask('slow', 'part', { name: 'slow' }); // waited for, though nobody looks
    await step('decide', { lasts: 30 });
    unwanted.cancel();
    const gone = unwanted.then(
      () => 'rested',
      () => 'was sent away',
    );
    return (await Promise.all([broken, doomed, gone])).join(', ');
  },
  end: 'completed: broke, was not run, was sent away',
};

/** A question of a subtask, which the caller is asked at the root, when both have been parked. */
const clerk: Scenario = {
  name: 'clerk',
  options: { task: 'always' },
  async handler({ subtask, step }) {
    const approved = subtask('desk', 'asking');
    await step('meanwhile');
    return await approved;
  },
  answers: { 'desk/approve': 1300 },
  end: 'completed: approved',
};

/** Cancelled with all that is below it. */
const abandoned: Scenario = {
  name: 'abandoned',
  options: { task: 'always' },
  async handler({ task, step, subtask }) {
    const child = subtask('a', 'family');
    const long = task.subtask('b', 'long', { name: 'b' });
    await step('begin', { lasts: 40 });
    task.status('1 of 1');
    await long;
    return child;
  },
  cancelsAt: '1 of 1',
  end: 'cancelled',
};

export const GRAPHS: readonly Scenario[] = [diamond, generations, rescue, clerk, abandoned];
