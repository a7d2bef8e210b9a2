import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSeal } from '../seal.ts';
import type { Principal } from '../task/principal.ts';
import type { ToolCall } from './engine.ts';
import { createRequestStates, type CarriedState } from './request-state.ts';

const DAY = 86_400_000;
const SEAL = createSeal(randomBytes(32), 'requestState');
const ADA: Principal = { kind: 'user', issuer: 'https://issuer', subject: 'ada' };
const CALL: ToolCall = {
  tool: 'deploy',
  arguments: { to: 'prod', flags: { dry: true, force: false } },
  takesTasks: false,
  capabilities: {},
};
const STATE: CarriedState = { kind: 'answers', answers: { who: { action: 'accept', content: { name: 'Ada' } } } };

function states({ now = 1000 } = {}) {
  const clock = { now };
  return {
    clock,
    states: createRequestStates(
      () => SEAL,
      () => clock.now,
    ),
  };
}

describe('what a call carries from one round to the next', () => {
  const { states: own } = states();
  const requestState = own.seal(ADA, CALL, STATE);

  it('comes back as it was, on any node', () => {
    expect(states().states.open(ADA, CALL, requestState)).toEqual(STATE);
  });

  it('is bound to the arguments, however their members are ordered', () => {
    const reordered = { flags: { force: false, dry: true }, to: 'prod' };
    expect(own.open(ADA, { ...CALL, arguments: reordered }, requestState)).toEqual(STATE);
  });

  it.each<[string, Principal, Partial<ToolCall>]>([
    ['by somebody else', { kind: 'user', issuer: 'https://issuer', subject: 'eve' }, {}],
    ['by nobody', { kind: 'anonymous' }, {}],
    ['for another tool', ADA, { tool: 'destroy' }],
    ['with other arguments', ADA, { arguments: { to: 'prod', flags: { dry: false, force: false } } }],
  ])('is refused %s', (_, principal, change) => {
    expect(() => own.open(principal, { ...CALL, ...change }, requestState)).toThrow(
      expect.objectContaining({ kind: 'invalidRequestState', code: -32602 }),
    );
  });

  it('is refused when it was tampered with', () => {
    for (const wrong of ['', 'x', requestState.slice(0, -1), `${requestState}A`]) {
      expect(() => own.open(ADA, CALL, wrong)).toThrow(/requestState is not what this call was given/);
    }
  });

  it('is refused when it is older than a day', () => {
    const { clock, states: aged } = states();
    const state = aged.seal(ADA, CALL, STATE);
    clock.now += DAY;
    expect(aged.open(ADA, CALL, state)).toEqual(STATE);
    clock.now += 1;
    expect(() => aged.open(ADA, CALL, state)).toThrow(/too old/);
  });
});
