import { describe, expect, it } from 'vitest';
import { DEFAULT_HOLD, handsOff, holdOf, type WithoutTasks } from './hold.ts';

const SERVER = { withoutTasks: 'wait', holdMs: 10_000 } as const;

describe('how long a call is held', () => {
  it.each<[string, WithoutTasks, typeof SERVER | typeof DEFAULT_HOLD, object]>([
    ['is 45 s where nobody says', {}, DEFAULT_HOLD, { withoutTasks: 'wait', holdMs: 45_000 }],
    ['is what the server says where the tool does not', {}, SERVER, { withoutTasks: 'wait', holdMs: 10_000 }],
    ['is what the tool says', { holdFor: '1s' }, SERVER, { withoutTasks: 'wait', holdMs: 1000 }],
    ['is not at all where calls are handed off at once', { withoutTasks: 'handoff' }, SERVER, { holdMs: 0 }],
    ['may be without an end', { holdFor: Infinity }, SERVER, { withoutTasks: 'wait', holdMs: Infinity }],
  ])('%s', (_, options, server, hold) => {
    expect(holdOf('it', options, server)).toMatchObject(hold);
  });

  it('is the default for a tool that waits on a server that does not', () => {
    for (const withoutTasks of ['handoff', 'refuse'] as const) {
      const server = holdOf('server', { withoutTasks }, DEFAULT_HOLD);
      expect(holdOf('it', { withoutTasks: 'wait' }, server)).toEqual({ withoutTasks: 'wait', holdMs: 45_000 });
      expect(holdOf('it', { holdFor: '2s' }, server)).toEqual({ withoutTasks: 'wait', holdMs: 2000 });
      expect(holdOf('it', {}, server)).toEqual(server);
    }
  });

  it('decides whether a call may be handed off', () => {
    expect(handsOff(DEFAULT_HOLD)).toBe(true);
    expect(handsOff(holdOf('it', { withoutTasks: 'handoff' }, DEFAULT_HOLD))).toBe(true);
    expect(handsOff(holdOf('it', { withoutTasks: 'refuse' }, DEFAULT_HOLD))).toBe(false);
    expect(handsOff(holdOf('it', { holdFor: Infinity }, DEFAULT_HOLD))).toBe(false);
  });
});
