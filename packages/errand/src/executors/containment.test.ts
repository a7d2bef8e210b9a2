import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { programCommand } from '../../test/fixtures/server-process.ts';

/** Runs the faulty server to its end, in a process of its own: how it ended, and what it wrote. */
async function run(mode: string) {
  const child = spawn(...programCommand('faulty-server.ts', mode), { stdio: ['ignore', 'pipe', 'pipe'] });
  const [[code], out, err] = await Promise.all([
    once(child, 'close') as Promise<[number]>,
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, out: out.trimEnd().split('\n'), err };
}

describe.concurrent('a handler that breaks', { timeout: 60_000 }, () => {
  it('fails its own call and no other, and the process lives on', async () => {
    const { code, out, err } = await run('contained');
    expect(err).toBe('');
    const messages = {
      rejection: 'nobody catches this',
      timer: 'thrown in a timer',
      emitter: expect.stringMatching(/JSON/),
    };
    const kinds = ['always', 'auto', 'never', 'step', 'prepare'];
    const came = Object.fromEntries(out.filter((line) => line.includes('_')).map((line) => line.split(': ')));
    for (const kind of kinds) {
      for (const [fault, message] of Object.entries(messages)) {
        expect([kind, fault, came[`${kind}_${fault}`]]).toEqual([kind, fault, message]);
      }
    }
    expect(out).toEqual(
      expect.arrayContaining([
        'abort: cancelled',
        'abort: failed',
        'abort_never: hung up with tasks',
        'healthy: healthy to the end',
        'leaving: hung up with tasks',
        'leaving: hung up without tasks',
        'many: 40 at once',
        'parked: decline',
      ]),
    );
    expect(code).toBe(0);
  });

  it.each(['rejection', 'exception'])('changes nothing for a program that breaks by itself: %s', async (mode) => {
    const { code, err } = await run(mode);
    expect(code).not.toBe(0);
    expect(err).toContain('Error: outside');
  });
});
