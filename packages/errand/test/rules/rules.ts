/*
 * The rules of all revisions that one endpoint speaks, by their numbers: those that the sources and tests cite. A test
 * holds a rule whose number is in its title; else it is named here, or there is a reason why nothing of ours can break it.
 */

/** Each series of rules, what it is about, and how many there are. */
export const SERIES: Readonly<Record<string, readonly [about: string, count: number]>> = {
  N: ['Which revision is spoken', 10],
  L: ['2025-11-25', 53],
  U: ['March 2026: unsolicited tasks (SEP-2229)', 14],
  K: ['March 2026: continuity (SEP-2339)', 22],
  M: ['March 2026: questions by results (SEP-2322)', 12],
  S: ['March 2026: subtasks (SEP-2268)', 15],
  P: ['March 2026: progress on tasks', 8],
  R: ['March 2026: where the drafts contradict each other', 10],
  E: ['2026-07-28: the tasks extension (SEP-2663)', 20],
  F: ['2026-07-28: questions by results', 7],
};

/** Tests that hold a rule and do not name it: the file below `packages/errand`, and the title. */
export const HELD: Readonly<Record<string, readonly [file: string, title: string]>> = {
  'E-3': ['src/engine/holding.test.ts', 'fails the call with -32021 where nothing is handed off'],
  'E-7': ['test/wire-gaps.test.ts', 'are never put twice in the life of a task'],
  'E-10': ['test/cases/isolation.test.ts', '1: a foreign id takes about as long as an unknown one'],
  'E-14': ['test/cases/cancel.test.ts', '25: no progress and no log message is ever sent for a task'],
  'E-16': ['test/cases/isolation.test.ts', '5: 100,000 task ids carry at least 122 random bits each'],
  'F-2': ['src/engine/request-state.test.ts', 'is refused when it was tampered with'],
};

/** Why a rule that no test holds cannot be broken here. */
export const REASONS: Readonly<Record<string, string>> = {
  'L-7':
    'A permission that is not used: no call is refused for want of `params.task` but of tools that make only tasks (L-11).',
  'L-15': 'A permission that is not used: hosts have their own words for a model whose call goes on.',
  'L-21': 'Advice to whoever polls. Reads are paced per principal, generously (limits.pollsPerSecond).',
  'L-46': 'A permission that is not used: a cancelled task is kept as long as any other.',
  'L-52': 'Advice to operators: caps, lifetimes, logs and metrics are in limits.md and operations.md.',
  'U-13': 'Advice to makers of client libraries.',
  'K-13': 'About where the text of the proposal has its notes.',
  'K-22': 'The proposal offers no way to be compatible; here the revision is agreed on (N-7).',
  'S-7': 'Advice to hosts on the order in which they read results.',
  'P-8': 'Says that there is no capability and no error to be known.',
  'M-7': 'How a client must read streams. Here a result that asks is the last message on its stream, as any response.',
  'E-1': 'Nothing but a call of a tool is ever decoded to what makes a task.',
  'F-3': 'How a client must read results. Every result says its type, which the schemas check in all tests.',
  'F-4':
    'Questions that send to a page have no elicitationId in this revision: nothing adds one, and no notification tells of them.',
  'F-5': 'Every message in all tests of this revision is checked to be no request.',
  'F-6': 'requestState is made for calls only; the schemas check in all tests that no task has one (E-18).',
  'F-7': 'About a text that was left as it was when another one replaced it.',
};
