import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InputRequest, InputResponse } from './input.ts';
import { isTerminal, type Task, type TaskOutcome } from './task.ts';
import * as transitions from './transitions.ts';

const T0 = 1_000_000;
const DEADLINE = 60_000;
const RETENTION = 5_000;

function fresh(): Task {
  return transitions.created(
    {
      id: 'task-1',
      principal: 'local',
      tool: 'build',
      toolVersion: '1',
      arguments: { n: 1 },
      seed: 'seed',
      capabilities: { elicitation: { form: true, url: false } },
      deadlineMs: DEADLINE,
      retentionMs: RETENTION,
      pollIntervalMs: 1000,
    },
    T0,
  );
}

const QUESTION: InputRequest = { method: 'elicitation/create', params: { message: 'go?' } };
const RESULT: TaskOutcome = { kind: 'result', result: { content: [{ type: 'text', text: 'done' }] } };
const ERROR: TaskOutcome = { kind: 'error', error: { code: -32000, message: 'broken' } };

/** A command with its time filled in later. */
type Command = { readonly name: string; readonly run: (task: Task, now: number) => Task };

// Few keys and texts, so that random commands meet each other; `__proto__` and its like are keys as any other.
const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'toString');
const text = fc.constantFrom('one', 'two', 'the code no longer fits');
const count = fc.integer({ min: 0, max: 5 });

const command: fc.Arbitrary<Command> = fc.oneof(
  key.map((k) => ({
    name: `ask ${k}`,
    run: (task: Task, now: number) => (Object.hasOwn(task.inputs, k) ? task : transitions.ask(task, k, QUESTION, now)),
  })),
  fc.uniqueArray(key, { minLength: 1 }).map((keys) => ({
    name: `answer ${keys.join(', ')}`,
    run: (task: Task, now: number) =>
      transitions.answer(task, Object.fromEntries(keys.map((k) => [k, { action: 'accept', at: now }])), now),
  })),
  key.map((k) => ({ name: `withdraw ${k}`, run: (task: Task, now: number) => transitions.withdraw(task, k, now) })),
  text.map((t) => ({ name: `describe ${t}`, run: (task: Task, now: number) => transitions.describe(task, t, now) })),
  fc.record({ done: count, total: fc.option(count, { nil: undefined }) }).map(({ done, total }) => ({
    name: `progress ${done}/${total}`,
    run: (task: Task, now: number) => transitions.progress(task, total === undefined ? { done } : { done, total }, now),
  })),
  text.map((t) => ({ name: `hold ${t}`, run: (task: Task, now: number) => transitions.hold(task, t, now) })),
  fc.constant({ name: 'release', run: transitions.release }),
  fc.option(text, { nil: undefined }).map((reason) => ({
    name: `pause ${reason}`,
    run: (task: Task, now: number) => transitions.pause(task, reason, now),
  })),
  fc.constant({ name: 'resume', run: transitions.resume }),
  text.map((t) => ({ name: `steer ${t}`, run: (task: Task, now: number) => transitions.steer(task, t, now) })),
  fc.option(fc.integer({ min: T0, max: T0 + 9 }), { nil: undefined }).map((wakeAt) => ({
    name: `park ${wakeAt}`,
    // No run fits a held task, so none of them parks.
    run: (task: Task) => (task.held === undefined ? transitions.park(task, wakeAt) : task),
  })),
  fc.constant({ name: 'began', run: (task: Task) => transitions.began(task) }),
);

const end: fc.Arbitrary<Command> = fc.oneof(
  fc.constantFrom(RESULT, ERROR).map((outcome) => ({
    name: `finish ${outcome.kind}`,
    run: (task: Task, now: number) => transitions.finish(task, outcome, now),
  })),
  fc.constant({ name: 'cancel', run: transitions.cancel }),
);

/** A life: mostly commands that keep a task alive, under a clock that also stands still and goes back. */
const life = fc.array(
  fc.record({
    command: fc.oneof({ weight: 12, arbitrary: command }, { weight: 1, arbitrary: end }),
    tick: fc.integer({ min: -3, max: 9 }),
  }),
  { maxLength: 40 },
);

/** Calls `check` with each transition of random lives. */
function overLives(check: (before: Task, after: Task, now: number, command: Command) => void): void {
  fc.assert(
    fc.property(life, (steps) => {
      let task = fresh();
      let now = T0;
      for (const { command, tick } of steps) {
        now += tick;
        const next = command.run(task, now);
        check(task, next, now, command);
        task = next;
      }
    }),
    { numRuns: 300 },
  );
}

function visible({ status, statusMessage, progress, inputs, outcome, paused }: Task) {
  return { status, statusMessage, progress, inputs, outcome, paused };
}

function openKeys(task: Task): string[] {
  return Object.keys(task.inputs).filter((name) => task.inputs[name]!.state === 'open');
}

describe('a new task', () => {
  it('works, is due at once, and may vanish when deadline and retention have passed', () => {
    expect(fresh()).toMatchObject({
      version: 1,
      status: 'working',
      inputs: {},
      createdAt: T0,
      lastUpdatedAt: T0,
      deadlineAt: T0 + DEADLINE,
      expiresAt: T0 + DEADLINE + RETENTION,
      wakeAt: T0,
      epoch: 0,
      runs: 0,
    });
    expect(fresh()).not.toHaveProperty('deadlineMs');
  });
});

describe('in every life of a task', () => {
  it('a terminal state absorbs whatever comes', () => {
    overLives((before, after) => {
      if (isTerminal(before)) expect(after).toBe(before);
    });
  });

  it('a command that changes nothing gives the very same object', () => {
    overLives((before, after) => {
      if (after !== before) expect(after).not.toEqual(before);
    });
  });

  it('lastUpdatedAt never goes back, and moves only when something changed that a client can see', () => {
    overLives((before, after, now) => {
      expect(after.lastUpdatedAt).toBeGreaterThanOrEqual(before.lastUpdatedAt);
      const seen = JSON.stringify(visible(before)) !== JSON.stringify(visible(after));
      expect(after.lastUpdatedAt).toBe(seen ? Math.max(before.lastUpdatedAt, now) : before.lastUpdatedAt);
    });
  });

  it('what is fixed at creation stays: whose it is, what it does, and when it must have ended', () => {
    const fixed = ({ id, principal, tool, toolVersion, seed, createdAt, deadlineAt, expiresAt }: Task) => [
      id,
      principal,
      tool,
      toolVersion,
      seed,
      createdAt,
      deadlineAt,
      expiresAt,
    ];
    overLives((before, after) => {
      expect(fixed(after)).toEqual(fixed(before));
      expect(after.arguments).toBe(before.arguments);
      expect(after.capabilities).toBe(before.capabilities);
    });
  });

  it('a key stays used, and an answered or withdrawn question stays as it is', () => {
    overLives((before, after) => {
      for (const [name, input] of Object.entries(before.inputs)) {
        expect(Object.hasOwn(after.inputs, name)).toBe(true);
        if (input.state !== 'open') expect(after.inputs[name]).toEqual(input);
      }
    });
  });

  it('it reads input_required exactly while a question is open, and no question outlives it', () => {
    overLives((_, after) => {
      if (isTerminal(after)) expect(openKeys(after)).toEqual([]);
      else expect(after.status).toBe(openKeys(after).length > 0 ? 'input_required' : 'working');
      expect(Object.keys(transitions.openInputs(after))).toEqual(openKeys(after));
    });
  });

  it('an answer is there exactly when the question was answered', () => {
    overLives((_, after) => {
      for (const input of Object.values(after.inputs)) {
        expect(input.response !== undefined).toBe(input.state === 'answered');
      }
    });
  });

  it('progress never falls', () => {
    overLives((before, after) => {
      expect(after.progress?.done ?? -1).toBeGreaterThanOrEqual(before.progress?.done ?? -1);
      expect(after.progress?.total ?? -1).toBeGreaterThanOrEqual(before.progress?.total ?? -1);
    });
  });

  it('it has an outcome exactly when it completed or failed', () => {
    overLives((_, after) => {
      expect(after.outcome !== undefined).toBe(after.status === 'completed' || after.status === 'failed');
      if (after.outcome !== undefined) {
        expect(after.outcome.kind).toBe(after.status === 'completed' ? 'result' : 'error');
      }
    });
  });

  it('a run loses its right to write exactly when the task ends, or lets go of it', () => {
    overLives((before, after, _, { name }) => {
      const lost = isTerminal(after) || (name.startsWith('park') && before.held === undefined);
      expect(after.epoch - before.epoch).toBe(!isTerminal(before) && lost ? 1 : 0);
    });
  });

  it('it is never due while it is held or after it ended, and is due at once when it is told something or may go on', () => {
    overLives((before, after, now, { name }) => {
      if (isTerminal(after) || after.held !== undefined) expect(after).not.toHaveProperty('wakeAt');
      else if (after !== before && /^(answer|release|resume|steer)/.test(name)) expect(after.wakeAt).toBe(now);
    });
  });

  it('why it is held is shown as long as it is held, and no longer', () => {
    overLives((before, after) => {
      if (before.held !== undefined && after.held === undefined) expect(after.statusMessage).not.toBe(before.held);
      if (before.held === undefined && after.held !== undefined) expect(after.statusMessage).toBe(after.held);
    });
  });
});

describe('a paused task', () => {
  const paused = () => transitions.pause(transitions.describe(fresh(), 'half way', T0 + 1), undefined, T0 + 2);

  it('says so, with the reason if there is one, whatever its run says meanwhile', () => {
    expect(paused()).toMatchObject({ paused: true, status: 'working', statusMessage: 'paused', lastUpdatedAt: T0 + 2 });
    expect(transitions.pause(fresh(), 'lunch', T0 + 2).statusMessage).toBe('paused: lunch');
    const task = paused();
    expect(transitions.describe(task, 'nearly there', T0 + 3)).toBe(task);
  });

  it('is paused once: a second reason changes nothing', () => {
    const task = paused();
    expect(transitions.pause(task, 'again', T0 + 3)).toBe(task);
  });

  it('takes answers, and is due from the moment it is resumed', () => {
    const asked = transitions.pause(transitions.ask(fresh(), 'a', QUESTION, T0 + 1), undefined, T0 + 2);
    expect(asked.status).toBe('input_required');
    const parked = transitions.park(transitions.answer(asked, { a: {} }, T0 + 3), undefined);
    const resumed = transitions.resume(parked, T0 + 4);
    expect(resumed).toMatchObject({ wakeAt: T0 + 4, lastUpdatedAt: T0 + 4, inputs: { a: { state: 'answered' } } });
    expect(resumed).not.toHaveProperty('paused');
    expect(resumed).not.toHaveProperty('statusMessage');
    expect(transitions.resume(resumed, T0 + 5)).toBe(resumed);
  });

  it('that is held says why once it is resumed, and is not due; one that is released still says that it is paused', () => {
    const held = transitions.hold(fresh(), 'no code', T0 + 1);
    const both = transitions.pause(held, undefined, T0 + 2);
    expect(both.statusMessage).toBe('paused');
    const resumed = transitions.resume(both, T0 + 3);
    expect(resumed).toMatchObject({ held: 'no code', statusMessage: 'no code' });
    expect(resumed).not.toHaveProperty('wakeAt');
    expect(transitions.release(both, T0 + 3)).toMatchObject({ paused: true, statusMessage: 'paused' });
    const heldLater = transitions.hold(paused(), 'no code', T0 + 3);
    expect(heldLater.statusMessage).toBe('no code');
    expect(transitions.release(heldLater, T0 + 4)).toMatchObject({ paused: true, statusMessage: 'paused' });
  });

  it('that ends shows no more that it was paused', () => {
    const task = transitions.cancel(paused(), T0 + 3);
    expect(task).not.toHaveProperty('paused');
    expect(task).not.toHaveProperty('statusMessage');
  });
});

describe('steering', () => {
  it('is kept in the order in which it was said, and makes the task due without a client seeing it', () => {
    const parked = transitions.park(fresh(), undefined);
    const task = transitions.steer(transitions.steer(parked, 'left', T0 + 1), { turn: 'right' }, T0 + 2);
    expect(task).toMatchObject({ steering: ['left', { turn: 'right' }], wakeAt: T0 + 2, lastUpdatedAt: T0 });
  });

  it('makes no subtask due that may not run yet', () => {
    const blocked: Task = { ...transitions.park(fresh(), undefined), blocked: true };
    expect(transitions.steer(blocked, 'left', T0 + 1)).not.toHaveProperty('wakeAt');
    expect(transitions.resume(transitions.pause(blocked, undefined, T0), T0 + 1)).not.toHaveProperty('wakeAt');
    expect(transitions.cancel(blocked, T0 + 1)).not.toHaveProperty('blocked');
  });
});

describe('a question', () => {
  const asked = () => transitions.ask(transitions.ask(fresh(), 'a', QUESTION, T0 + 1), 'b', QUESTION, T0 + 2);
  const yes: InputResponse = { action: 'accept', content: { go: true } };
  const no: InputResponse = { action: 'decline' };

  it('cannot be put under a key that was used before, whatever became of it', () => {
    for (const task of [
      asked(),
      transitions.answer(asked(), { a: yes }, T0 + 3),
      transitions.withdraw(asked(), 'a', T0 + 3),
    ]) {
      expect(() => transitions.ask(task, 'a', QUESTION, T0 + 9)).toThrow(/input key "a" was used before/);
    }
  });

  it('takes the first answer only', () => {
    const first = transitions.answer(asked(), { a: yes }, T0 + 3);
    expect(transitions.answer(first, { a: no }, T0 + 4)).toBe(first);
    expect(transitions.answer(first, { a: no, b: no }, T0 + 4).inputs['a']!.response).toEqual(yes);
  });

  it('is answered beside keys that are unknown, which are ignored (CASES 19)', () => {
    const task = transitions.answer(asked(), { a: yes, elsewhere: yes }, T0 + 3);
    expect(task.inputs['a']).toMatchObject({ state: 'answered', response: yes });
    expect(Object.keys(task.inputs)).toEqual(['a', 'b']);
  });

  it('keeps the task at input_required while another one is open (CASES 21)', () => {
    const one = transitions.answer(asked(), { a: yes }, T0 + 3);
    expect(one.status).toBe('input_required');
    expect(transitions.answer(one, { b: yes }, T0 + 4).status).toBe('working');
  });

  it('cannot be answered once it was withdrawn', () => {
    const task = transitions.withdraw(asked(), 'a', T0 + 3);
    expect(transitions.answer(task, { a: yes }, T0 + 4)).toBe(task);
  });
});

describe('the end of a task', () => {
  it('shows the message of an error, and else keeps the last text', () => {
    const task = transitions.describe(fresh(), 'half way', T0 + 1);
    expect(transitions.finish(task, ERROR, T0 + 2).statusMessage).toBe('broken');
    expect(transitions.finish(task, RESULT, T0 + 2).statusMessage).toBe('half way');
    expect(transitions.cancel(task, T0 + 2).statusMessage).toBe('half way');
  });

  it('keeps the first outcome when a finish comes after a cancel, and the other way round (CASES 12)', () => {
    const cancelled = transitions.cancel(fresh(), T0 + 1);
    expect(transitions.finish(cancelled, RESULT, T0 + 2)).toBe(cancelled);
    const finished = transitions.finish(fresh(), RESULT, T0 + 1);
    expect(transitions.cancel(finished, T0 + 2)).toBe(finished);
  });
});
