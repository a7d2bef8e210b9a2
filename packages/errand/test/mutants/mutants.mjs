/*
 * Faults that the public conformance suite does not find. Each is put into a copy of the sources by itself, and the
 * tests that are named beside it must go red.
 *
 * `gap` is the number of the requirement of the tasks extension that the fault breaks, or SHOULD where it is one.
 * Gap 22 concerns clients, and has no fault here. A fault that two layers guard against is put into both. Every text
 * to find is there exactly once in its file, so that no fault outlives the code that it was meant for.
 */

const src = (file) => `packages/errand/src/${file}`;

const ENCODE = src('dialects/2026-07-28/encode.ts');
const DECODE = src('dialects/2026-07-28/decode.ts');
const ENVELOPE = src('dialects/2026-07-28/envelope.ts');
const HEADERS = src('dialects/2026-07-28/headers.ts');
const LISTEN = src('dialects/2026-07-28/listen.ts');
const FRONT = src('serve/front.ts');
const SUBSCRIPTIONS = src('serve/subscriptions.ts');
const TRANSITIONS = src('task/transitions.ts');
const COMMANDS = src('engine/commands.ts');
const CALLING = src('engine/calling.ts');
const QUESTIONS = src('engine/questions.ts');
const INPUT = src('engine/calls/input.ts');
const ERRORS = src('errors.ts');
const SQLITE_IDS = src('stores/sqlite/ids.ts');

const ENCODE_TEST = src('dialects/2026-07-28/encode.test.ts');
const DECODE_TEST = src('dialects/2026-07-28/decode.test.ts');
const HEADERS_TEST = src('dialects/2026-07-28/headers.test.ts');
const FRONT_TEST = src('serve/front.test.ts');
const SUBSCRIPTIONS_TEST = src('serve/subscriptions.test.ts');
const TRANSITIONS_TEST = src('task/transitions.test.ts');
const WIRE_GAPS = 'packages/errand/test/wire-gaps.test.ts';
const STATUS_NOTIFICATIONS = 'packages/errand/test/conformance/status-notifications.test.ts';
const cases = (name) => `packages/errand/test/cases/${name}.test.ts`;

/** One fault in one place. */
const mutant = (id, gap, tests, file, find, replace) => ({ id, gap, tests, edits: [{ file, find, replace }] });

export const MUTANTS = [
  mutant(
    'working-reads-running',
    1,
    [ENCODE_TEST],
    ENCODE,
    'status: statusOf(task),',
    `status: task.status === 'working' ? 'running' : statusOf(task),`,
  ),
  mutant(
    'read-is-task',
    2,
    [ENCODE_TEST],
    ENCODE,
    `read: (task) => ({ resultType: 'complete',`,
    `read: (task) => ({ resultType: 'task',`,
  ),
  mutant(
    'read-of-unfinished-is-task',
    2,
    [ENCODE_TEST],
    ENCODE,
    `read: (task) => ({ resultType: 'complete',`,
    `read: (task) => ({ resultType: task.outcome === undefined ? 'task' : 'complete',`,
  ),
  mutant(
    'acknowledgement-is-task',
    2,
    [ENCODE_TEST],
    ENCODE,
    `const acknowledged: JsonObject = { resultType: 'complete',`,
    `const acknowledged: JsonObject = { resultType: 'task',`,
  ),
  mutant(
    'cancelled-reads-failed',
    3,
    [TRANSITIONS_TEST],
    TRANSITIONS,
    `status: 'cancelled', ...keptMessage(task)`,
    `status: 'failed', ...keptMessage(task)`,
  ),
  mutant(
    'read-without-times',
    4,
    [ENCODE_TEST],
    ENCODE,
    'const plain = plainTask(task);',
    'const { createdAt: _c, lastUpdatedAt: _l, ttlMs: _t, ...plain } = plainTask(task);',
  ),
  mutant(
    'ttl-is-fractional',
    4,
    [ENCODE_TEST],
    ENCODE,
    'ttlMs: task.expiresAt - task.createdAt,',
    'ttlMs: task.expiresAt - task.createdAt + 0.5,',
  ),
  mutant(
    'poll-interval-is-negative',
    4,
    [ENCODE_TEST],
    ENCODE,
    'pollIntervalMs: task.pollIntervalMs,',
    'pollIntervalMs: -task.pollIntervalMs,',
  ),
  mutant(
    'last-updated-stands-still',
    4,
    [TRANSITIONS_TEST],
    TRANSITIONS,
    'lastUpdatedAt: Math.max(task.lastUpdatedAt, now)',
    'lastUpdatedAt: task.lastUpdatedAt',
  ),
  mutant(
    'result-is-another',
    5,
    [ENCODE_TEST],
    ENCODE,
    'result: completeResult(task.outcome.result)',
    `result: completeResult({ content: [{ type: 'text', text: 'done' }] })`,
  ),
  mutant(
    'result-loses-structure',
    5,
    [ENCODE_TEST],
    ENCODE,
    'return { ...rest, ...(_meta',
    'delete rest.structuredContent;\n  return { ...rest, ...(_meta',
  ),
  mutant(
    'error-is-another',
    6,
    [ENCODE_TEST],
    ENCODE,
    `error: task.outcome?.kind === 'error' ? { ...task.outcome.error } : INTERNAL`,
    `error: { code: 7, message: '' }`,
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
    'acknowledgement-says-more',
    8,
    [ENCODE_TEST],
    ENCODE,
    `const acknowledged: JsonObject = { resultType: 'complete',`,
    `const acknowledged: JsonObject = { resultType: 'complete', accepted: true,`,
  ),
  mutant(
    'anyone-subscribes-to-tasks',
    9,
    [DECODE_TEST],
    DECODE,
    'if (taskIds !== undefined) requireTasks(',
    'if (taskIds === null) requireTasks(',
  ),
  mutant(
    'subscription-grants-nothing-aloud',
    10,
    [SUBSCRIPTIONS_TEST],
    LISTEN,
    'taskIds.length === 0 ? {} : { taskIds: [...taskIds] }',
    'taskIds.length >= 0 ? {} : { taskIds: [...taskIds] }',
  ),
  mutant(
    'subscription-grants-unknown-tasks',
    10,
    [SUBSCRIPTIONS_TEST],
    SUBSCRIPTIONS,
    'taskIds.filter((taskId) => this.#latest.has(taskId))',
    'taskIds',
  ),
  mutant(
    'notification-is-not-detailed',
    10,
    [SUBSCRIPTIONS_TEST],
    LISTEN,
    `notification(id, 'notifications/tasks', detailedTask(task))`,
    `notification(id, 'notifications/tasks', (({ result: _, inputRequests: __, ...rest }) => rest)(detailedTask(task)))`,
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
    'missing-capability-is-200',
    11,
    [FRONT_TEST],
    ERRORS,
    'missingCapability: { code: -32021, status: 400',
    'missingCapability: { code: -32021, status: 200',
  ),
  mutant(
    'header-mismatch-is-200',
    11,
    [cases('protocol')],
    ERRORS,
    'headerMismatch: { code: -32020, status: 400',
    'headerMismatch: { code: -32020, status: 200',
  ),
  mutant(
    'name-not-compared-on-update-and-cancel',
    12,
    [HEADERS_TEST],
    HEADERS,
    `  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
`,
    '',
  ),
  mutant(
    'name-may-be-missing',
    12,
    [HEADERS_TEST],
    HEADERS,
    `if (value === undefined) throw mismatch('the Mcp-Name header is missing');`,
    'if (value === undefined) return;',
  ),
  mutant(
    'internal-error-has-another-code',
    13,
    [WIRE_GAPS],
    ERRORS,
    'internal: { code: -32603,',
    'internal: { code: -31999,',
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
  mutant(
    'ttl-shrinks',
    15,
    [ENCODE_TEST],
    ENCODE,
    'ttlMs: task.expiresAt - task.createdAt,',
    'ttlMs: task.expiresAt - task.lastUpdatedAt,',
  ),
  mutant(
    'ids-count',
    16,
    [cases('isolation')],
    SQLITE_IDS,
    'nonce: randomBytes(NONCE_BYTES)',
    'nonce: Buffer.alloc(NONCE_BYTES)',
  ),
  mutant(
    'anyone-reads-anything',
    17,
    [cases('isolation')],
    COMMANDS,
    'task.principal !== principalKey(principal)',
    `principalKey(principal) === ''`,
  ),
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
        find: 'return complete(dialect.called(await engine.call({ ...command.call, principal, signal: inbound.signal })));',
        replace: `{
          const answer = await engine.call({ ...command.call, principal, signal: inbound.signal });
          if (answer.kind === 'task') made.set(request.id, answer.task.id);
          return complete(dialect.called(answer));
        }`,
      },
      {
        file: FRONT,
        find: `const ACCEPTED: Reply = { kind: 'accepted' };`,
        replace: `const ACCEPTED: Reply = { kind: 'accepted' };\nconst made = new Map<unknown, string>();`,
      },
    ],
  },
  mutant(
    'capability-is-remembered',
    19,
    [FRONT_TEST],
    ENVELOPE,
    'return isObject(capabilities.extensions) && isObject(capabilities.extensions[TASKS]);',
    `const now = isObject(capabilities.extensions) && isObject(capabilities.extensions[TASKS]);
  return ((globalThis as { declared?: boolean }).declared ||= now);`,
  ),
  mutant(
    'task-for-who-takes-none',
    19,
    [WIRE_GAPS],
    CALLING,
    'if (!call.takesTasks) return hold(call, task);',
    `if (!call.takesTasks && tool.task !== 'always') return hold(call, task);`,
  ),
  mutant(
    'answered-before-it-is-written',
    20,
    [WIRE_GAPS],
    CALLING,
    `return { kind: 'task', task: await store.create(task) };`,
    `store.create(task).catch(() => undefined);
    return { kind: 'task', task };`,
  ),
  mutant(
    'one-question-of-several',
    21,
    [ENCODE_TEST],
    ENCODE,
    `filter(([, input]) => input.state === 'open');`,
    `filter(([, input]) => input.state === 'open').slice(0, 1);`,
  ),
  mutant(
    'answered-questions-stay',
    21,
    [cases('input')],
    ENCODE,
    `filter(([, input]) => input.state === 'open');`,
    `filter(([, input]) => input.state !== 'withdrawn');`,
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
    'failed-without-a-message',
    'SHOULD',
    [ENCODE_TEST],
    ENCODE,
    '...statusMessageOf(task),',
    `...(task.status === 'failed' ? {} : statusMessageOf(task)),`,
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
  mutant(
    'questions-on-a-working-task',
    'SHOULD',
    [ENCODE_TEST],
    ENCODE,
    `    default:
      return plain;`,
    `    default:
      return plain.status === 'working' ? { ...plain, inputRequests: {} } : plain;`,
  ),
  mutant(
    'result-on-a-cancelled-task',
    'SHOULD',
    [ENCODE_TEST],
    ENCODE,
    `    default:
      return plain;`,
    `    default:
      return plain.status === 'cancelled' ? { ...plain, result: { content: [], resultType: 'complete' } } : plain;`,
  ),
  mutant(
    'task-within-the-task',
    'SHOULD',
    [ENCODE_TEST],
    ENCODE,
    '...detailedTask(task), _meta: stamp',
    '...detailedTask(task), task: plainTask(task), _meta: stamp',
  ),
  mutant(
    'older-capability-counts',
    'SHOULD',
    [DECODE_TEST],
    ENVELOPE,
    'return isObject(capabilities.extensions) && isObject(capabilities.extensions[TASKS]);',
    `return isObject(capabilities.tasks) || (isObject(capabilities.extensions) && isObject(capabilities.extensions[TASKS]));`,
  ),
  mutant(
    'older-capability-is-declared',
    'SHOULD',
    [ENCODE_TEST],
    ENCODE,
    'const { tasks: _, ...capabilities } =',
    'const { ...capabilities } =',
  ),
];
