/* Faults in what becomes of calls and tasks. */

import {
  CALLING,
  COMMANDS,
  FRONT,
  FRONT_TEST,
  INPUT,
  QUESTIONS,
  SQLITE_IDS,
  STATUS_NOTIFICATIONS,
  SUBSCRIPTIONS,
  SUBSCRIPTIONS_TEST,
  TRANSITIONS,
  TRANSITIONS_TEST,
  WIRE_GAPS,
  cases,
  mutant,
} from './places.mjs';

export const LIFE_MUTANTS = [
  mutant(
    'cancelled-reads-failed',
    3,
    [TRANSITIONS_TEST],
    TRANSITIONS,
    `return ended(task, 'cancelled', now);`,
    `return ended(task, 'failed', now);`,
  ),
  mutant(
    'last-updated-stands-still',
    4,
    [TRANSITIONS_TEST],
    TRANSITIONS,
    'lastUpdatedAt: Math.max(task.lastUpdatedAt, now)',
    'lastUpdatedAt: task.lastUpdatedAt',
  ),
  {
    id: 'key-is-used-again',
    gap: 7,
    tests: [WIRE_GAPS],
    edits: [
      { file: QUESTIONS, find: 'if (used.has(key)) {', replace: 'if (key === undefined) {' },
      { file: INPUT, find: 'if (Object.hasOwn(run.task.inputs, key)) settle();', replace: 'if (!key) settle();' },
      {
        file: TRANSITIONS,
        find: 'if (Object.hasOwn(task.inputs, key)) throw',
        replace: 'if (key === undefined) throw',
      },
    ],
  },
  mutant(
    'subscription-grants-unknown-tasks',
    10,
    [SUBSCRIPTIONS_TEST],
    SUBSCRIPTIONS,
    'taskIds.filter((taskId) => this.#latest.has(taskId))',
    'taskIds',
  ),
  mutant(
    'progress-on-the-stream',
    10,
    [STATUS_NOTIFICATIONS],
    SUBSCRIPTIONS,
    'if (message) yield message;',
    `if (message) {
          yield { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: id, progress: 1 } };
          yield message;
        }`,
  ),
  mutant(
    'cancel-after-the-end',
    14,
    [cases('results')],
    TRANSITIONS,
    `cancel(task: Task, now: number): Task {
  if (isTerminal(task)) return task;`,
    `cancel(task: Task, now: number): Task {
  if (task.status === 'cancelled') return task;`,
  ),
  mutant(
    'end-after-cancel',
    14,
    [TRANSITIONS_TEST],
    TRANSITIONS,
    `outcome: TaskOutcome, now: number): Task {
  if (isTerminal(task)) return task;`,
    `outcome: TaskOutcome, now: number): Task {
  if (task.status === 'completed' || task.status === 'failed') return task;`,
  ),
  mutant(
    'gone-before-its-time',
    15,
    [cases('lifetime')],
    COMMANDS,
    'task.expiresAt <= store.now()',
    '(isTerminal(task) ? task.lastUpdatedAt + 1000 : task.expiresAt) <= store.now()',
  ),
  mutant('ids-count', 16, [cases('isolation')], SQLITE_IDS, 'randomFillSync(this.#nonces);', ''),
  {
    id: 'anyone-reads-anything',
    gap: 17,
    tests: [cases('isolation')],
    edits: [
      { file: COMMANDS, find: 'store.read(taskId, owner)', replace: 'store.read(taskId)' },
      { file: COMMANDS, find: 'task.principal !== owner', replace: `owner === ''` },
    ],
  },
  {
    id: 'notification-cancels-the-task',
    gap: 18,
    tests: [cases('cancel')],
    edits: [
      {
        file: FRONT,
        find: 'if (!isRequest(message)) return ACCEPTED;',
        replace: `if (!isRequest(message)) {
        const taskId = made.get(message.params?.['requestId']);
        if (message.method === 'notifications/cancelled' && taskId) await engine.cancel(inbound.principal, taskId);
        return ACCEPTED;
      }`,
      },
      {
        file: FRONT,
        find: 'return complete(dialect.called(await engine.call(command.call, inbound), command.extended));',
        replace: `{
          const answer = await engine.call(command.call, inbound);
          if (answer.kind === 'task') made.set(request.id, answer.task.id);
          return complete(dialect.called(answer, command.extended));
        }`,
      },
      {
        file: FRONT,
        find: `const ACCEPTED: Answer = { kind: 'accepted' };`,
        replace: `const ACCEPTED: Answer = { kind: 'accepted' };\nconst made = new Map<unknown, string>();`,
      },
    ],
  },
  mutant(
    'task-for-who-takes-none',
    19,
    [WIRE_GAPS],
    CALLING,
    'if (!call.takesTasks) return holding',
    `if (!call.takesTasks && tool.task !== 'always') return holding`,
  ),
  mutant(
    'answered-before-it-is-written',
    20,
    [WIRE_GAPS],
    CALLING,
    `return { kind: 'task', task: await store.create(() => ({ task })) };`,
    `store.create(() => ({ task })).catch(() => undefined);
    return { kind: 'task', task };`,
  ),
  mutant(
    'update-of-unknown-task-is-acknowledged',
    'SHOULD',
    [FRONT_TEST],
    FRONT,
    'await engine.answer(principal, command.taskId, command.responses)',
    'await engine.answer(principal, command.taskId, command.responses).catch(() => undefined as never)',
  ),
  mutant(
    'cancel-of-unknown-task-is-acknowledged',
    'SHOULD',
    [FRONT_TEST],
    FRONT,
    'await engine.cancel(principal, command.taskId)',
    'await engine.cancel(principal, command.taskId).catch(() => undefined as never)',
  ),
  mutant(
    'unknown-key-answers-another',
    'SHOULD',
    [cases('input')],
    COMMANDS,
    'const open = Object.entries(responses).filter(([key]) => isOpen(task, key));',
    `const waiting = Object.keys(task.inputs).find((key) => isOpen(task, key));
  const open = Object.entries(responses)
    .map(([key, response]) => [isOpen(task, key) ? key : (waiting ?? key), response] as const)
    .filter(([key]) => isOpen(task, key));`,
  ),
  mutant(
    'answered-key-is-answered-again',
    'SHOULD',
    [TRANSITIONS_TEST],
    TRANSITIONS,
    `task.inputs[key]!.state === 'open';`,
    `task.inputs[key]!.state !== 'withdrawn';`,
  ),
];
