import { DEFAULT_LIMITS } from '../limits.ts';
import { describe, expect, it, vi } from 'vitest';
import type { JournalEntry } from '../task/journal.ts';
import { Bench, turn, turns, type Handler } from './bench.suite.ts';
import { Journal, type Call, type JournalHost } from './journal.ts';

describe('ends', () => {
  it('that share a commit reach the handler one by one, in the order of the journal', async () => {
    const { bench, calls } = manual();
    const heard: string[] = [];
    for (const name of ['a', 'b', 'c']) void bench.begin(name).then(() => heard.push(name));
    await Promise.all(['c', 'a', 'b'].map((name) => bench.journal.end(calls.get(name)!, { value: name })));
    expect(heard).toEqual([]);
    await turn();
    expect(heard).toEqual(['c']);
    await turn();
    expect(heard).toEqual(['c', 'a']);
    await turns(2);
    expect(heard).toEqual(['c', 'a', 'b']);
  });

  it('reach the handler only when they are on disk', async () => {
    const { bench, calls, commits } = manual({ held: true });
    let heard = false;
    void bench.begin('a').then(() => (heard = true));
    void bench.journal.end(calls.get('a')!, { value: 1 });
    await turns(5);
    expect(heard).toBe(false);
    commits.open();
    await turns(3);
    expect(heard).toBe(true);
  });

  it('wait until the run may go on', async () => {
    let go!: () => void;
    const { bench, calls } = manual({ resume: () => new Promise((resolve) => (go = resolve)) });
    let heard = false;
    void bench.begin('a').then(() => (heard = true));
    await bench.journal.end(calls.get('a')!, { value: 1 });
    await turns(5);
    expect(heard).toBe(false);
    bench.resume = () => undefined;
    go();
    await turns(3);
    expect(heard).toBe(true);
  });

  it('that are failures which nobody waits for trouble nobody', async () => {
    const unhandled = vi.fn();
    process.once('unhandledRejection', unhandled);
    const { bench, calls } = manual();
    void bench.begin('lost');
    await bench.journal.end(calls.get('lost')!, { failure: { name: 'Error', message: 'nobody listens' } });
    await turns(5);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('are failures of one kind, with all that was recorded of them', async () => {
    const { bench, calls } = manual();
    const failed = bench.begin('a').catch((error: unknown) => error);
    const failure = { name: 'BankError', message: 'no funds', code: 'E_FUNDS', data: { missing: 5 } };
    await bench.journal.end(calls.get('a')!, { failure });
    expect(await failed).toMatchObject(failure);
    expect(await failed).toBeInstanceOf(Error);
  });
});

describe('a replay', () => {
  const RECORDED: JournalEntry[] = [
    { seq: 0, type: 'begin', kind: 'step', name: 'a', ordinal: 1 },
    { seq: 1, type: 'begin', kind: 'step', name: 'b', ordinal: 1 },
    { seq: 2, type: 'begin', kind: 'now', name: 'now', ordinal: 1, value: 4711 },
    { seq: 3, type: 'end', begin: 1, outcome: { value: 'B' } },
    { seq: 4, type: 'begin', kind: 'step', name: 'a', ordinal: 2 },
    { seq: 5, type: 'end', begin: 4, outcome: { value: 'A2' } },
  ];

  it('gives values as they were made, and does not make them again', async () => {
    const { bench } = manual({ disk: RECORDED });
    void bench.begin('a');
    void bench.begin('b');
    const make = vi.fn(() => 1);
    expect(bench.journal.value('now', 'now', make)).toBe(4711);
    expect(make).not.toHaveBeenCalled();
  });

  it('starts what has no end only when all that was recorded is told, in the order in which it was begun', async () => {
    const { bench, started } = manual({ disk: RECORDED });
    void bench.begin('a');
    const b = bench.begin('b');
    bench.journal.value('now', 'now', () => 0);
    await b;
    expect(started).toEqual([]);
    expect(bench.journal.live).toBe(false);
    const second = bench.begin('a');
    const fresh = bench.begin('fresh');
    expect(await second).toBe('A2');
    expect(started).toEqual([]);
    await turn();
    expect(bench.journal.live).toBe(true);
    expect(bench.caughtUp).toHaveBeenCalledOnce();
    expect(started).toEqual(['a', 'fresh']);
    void fresh;
  });

  it('waits for a begin that was recorded before the next end, and says which one', async () => {
    const { bench } = manual({ disk: RECORDED });
    let heard = false;
    void bench.begin('a');
    void bench.begin('b').then(() => (heard = true));
    await turns(10);
    expect(heard).toBe(false);
    expect(bench.journal.busy).toBe(true);
    expect(bench.quiet).toHaveBeenCalled();
    expect(bench.journal.owed).toMatchObject({ seq: 2, kind: 'now' });
    expect(bench.journal.owedError(60_000).message).toBe(
      `the code no longer fits this task's journal: entry 2 is now "now", but the handler did not come to it in 60000 ms`,
    );
    // It comes late, for instance after a read of a file, but it comes.
    bench.journal.value('now', 'now', () => 0);
    await turns(3);
    expect(heard).toBe(true);
  });

  it('that ends too early has a begin left that it did not come to', async () => {
    const { bench } = manual({ disk: RECORDED });
    void bench.begin('a');
    await turns(3);
    const { unreached } = bench.journal;
    expect(unreached).toMatchObject({ seq: 1, name: 'b' });
    expect(bench.journal.unreachedError(unreached!).message).toContain('entry 1 is step "b"');
  });
});

describe('code that no longer fits', () => {
  const BEFORE: Handler = async (task) => {
    await task.step('a');
    await Promise.all([task.step('b'), task.step('c')]);
    const at = task.now();
    await task.step('a');
    return at;
  };

  const CHANGED: Record<string, [Handler, string]> = {
    'another name': [
      async (task) => {
        await task.step('z');
      },
      'entry 0 is step "a", but the handler begins step "z"',
    ],
    'a call that is gone': [
      async (task) => {
        await Promise.all([task.step('b'), task.step('c')]);
      },
      'entry 0 is step "a", but the handler begins step "b"',
    ],
    'a call that is new': [
      async (task) => {
        await task.step('a');
        await task.step('new');
        await Promise.all([task.step('b'), task.step('c')]);
      },
      'entry 2 is step "b", but the handler begins step "new"',
    ],
    'another order': [
      async (task) => {
        await task.step('a');
        await Promise.all([task.step('c'), task.step('b')]);
      },
      'entry 2 is step "b", but the handler begins step "c"',
    ],
    'another kind': [
      async (task) => {
        await task.step('a');
        await Promise.all([task.step('b'), task.step('c')]);
        task.uuid();
        await task.step('a');
      },
      'entry 6 is now "now", but the handler begins uuid "uuid"',
    ],
    'a name that came less often': [
      async (task) => {
        await task.step('a');
        await Promise.all([task.step('b'), task.step('c')]);
        task.now();
        await task.step('b');
      },
      'entry 7 is step "a" (number 2), but the handler begins step "b" (number 2)',
    ],
  };

  it.each(Object.entries(CHANGED))('is found out: %s', async (_, [handler, message]) => {
    const before = new Bench([]);
    await before.run(BEFORE);
    const after = new Bench(before.disk);
    const settled = vi.fn();
    handler(after.context).then(settled, settled);
    await turns(60);
    expect(after.mismatch).toHaveBeenCalledOnce();
    expect(after.mismatch).toHaveBeenCalledWith(
      expect.objectContaining({ message: `the code no longer fits this task's journal: ${message}` }),
    );
    // It goes no further, and leaves no trace.
    expect(settled).not.toHaveBeenCalled();
    expect(after.effects).toEqual([]);
    expect(after.disk).toEqual(before.disk);
  });

  it('is told once, however often the handler goes astray', async () => {
    const before = new Bench([]);
    await before.run(BEFORE);
    const after = new Bench(before.disk);
    void after.context.step('x');
    void after.context.step('y');
    expect(typeof after.context.now()).toBe('number');
    await turns(10);
    expect(after.mismatch).toHaveBeenCalledOnce();
    expect(after.journal.finished).toBe(true);
  });
});

describe('a journal that was closed', () => {
  it('tells, starts and records nothing more', async () => {
    const { bench, calls, started } = manual();
    const settled = vi.fn();
    bench.begin('a').then(settled, settled);
    const call = calls.get('a')!;
    await bench.journal.end(call, { value: 1 }); // on disk, and not yet told
    bench.journal.close();
    bench.begin('b').then(settled, settled);
    expect(typeof bench.journal.value('now', 'now', () => 5)).toBe('number');
    await bench.journal.end(call, { value: 2 });
    await turns(10);
    expect(settled).not.toHaveBeenCalled();
    expect(started).toEqual(['a']);
    expect(bench.journal.take()).toEqual([]);
    expect([...bench.journal.calls]).toEqual([]);
  });

  it('gives its last entries to whoever ends it', () => {
    const { bench } = manual();
    void bench.begin('a');
    bench.journal.value('now', 'now', () => 5);
    expect(bench.journal.finish().map((entry) => entry.type === 'begin' && entry.kind)).toEqual(['step', 'now']);
    expect(bench.journal.take()).toEqual([]);
  });
});

describe('a value that was made', () => {
  it('counts as unwritten until somebody takes it along', () => {
    const { bench } = manual();
    expect(bench.journal.holdsUnwrittenValues).toBe(false);
    bench.journal.value('uuid', 'uuid', () => 'u');
    expect(bench.journal.holdsUnwrittenValues).toBe(true);
    expect(bench.journal.take()).toMatchObject([{ kind: 'uuid', value: 'u' }]);
    expect(bench.journal.holdsUnwrittenValues).toBe(false);
  });

  it('is written already when a replay gives it', () => {
    const disk: JournalEntry[] = [{ seq: 0, type: 'begin', kind: 'uuid', name: 'uuid', ordinal: 1, value: 'u' }];
    const { bench } = manual({ disk });
    expect(bench.journal.value('uuid', 'uuid', () => 'other')).toBe('u');
    expect(bench.journal.holdsUnwrittenValues).toBe(false);
  });
});

/** A journal whose every move the test makes itself. */
function manual({
  disk = [],
  held = false,
  resume = () => undefined,
}: {
  disk?: readonly JournalEntry[];
  held?: boolean;
  resume?: JournalHost['resume'];
} = {}) {
  let open!: () => void;
  const committed = new Promise<void>((resolve) => (open = resolve));
  const calls = new Map<string, Call>();
  const started: string[] = [];
  const host = {
    limits: DEFAULT_LIMITS,
    flush: () => (held ? committed : Promise.resolve()),
    resume,
    note: () => undefined,
    caughtUp: vi.fn(),
    quiet: vi.fn(),
    mismatch: vi.fn(),
  };
  const journal = new Journal(disk, host);
  const begin = (name: string): Promise<unknown> => {
    const start = (call: Call): void => {
      started.push(name);
      calls.set(name, call);
    };
    return journal.begin('step', name, start).promise;
  };
  return { bench: Object.assign(host, { journal, begin }), calls, started, commits: { open } };
}
