/** A change to the sources that makes Errand lose or repeat something: what the suite must notice. */
export interface Fault {
  readonly name: string;
  readonly what: string;
  /** `file` is within `src`; the first occurrence of `find` becomes `put`. */
  readonly edits: readonly { readonly file: string; readonly find: string; readonly put: string }[];
  /** The kind of work in which it shows. */
  readonly cast: string;
}

export const FAULTS: readonly Fault[] = [
  {
    name: 'late-commit',
    what: 'the store answers before it commits',
    edits: [
      {
        file: 'stores/sqlite/connection.ts',
        find: 'this.#begin.run();',
        put: 'if (!this.db.inTransaction) this.#begin.run();',
      },
      {
        file: 'stores/sqlite/connection.ts',
        find: 'this.#commit.run();',
        put: 'setTimeout(() => { if (this.db.inTransaction) this.#commit.run(); }, 15);',
      },
      {
        // Else the open transaction is noticed at once, without a kill.
        file: 'stores/sqlite/ids.ts',
        find: 'if (this.#db.inTransaction) throw',
        put: 'if (this.#db === undefined) throw',
      },
    ],
    cast: 'signature',
  },
  {
    name: 'early-answer',
    what: 'an answer is acknowledged before it is kept',
    edits: [
      {
        file: 'engine/commands.ts',
        find: 'const task = await store.change(taskId, decide);',
        put: 'const task = await store.read(taskId); void store.change(taskId, decide);',
      },
    ],
    cast: 'signature',
  },
  {
    name: 'early-cancel',
    what: 'a cancel is acknowledged before it is kept',
    edits: [
      {
        file: 'engine/commands.ts',
        find: 'const task = await store.changeTree(taskId, (current) =>',
        put: 'const task = await store.read(taskId); void store.changeTree(taskId, (current) =>',
      },
    ],
    cast: 'unwanted',
  },
  {
    name: 'early-task',
    what: 'a task whose handler is not replayed is acknowledged before it is kept',
    edits: [
      {
        file: 'engine/calling.ts',
        find: 'task: await store.create(() => ({ task })) }',
        put: 'task: (void store.create(() => ({ task })), task) }',
      },
    ],
    cast: 'fragile',
  },
  {
    name: 'early-attempt',
    what: 'a task that runs before it is kept is acknowledged before that, too',
    edits: [
      {
        file: 'executors/embedded.ts',
        find: 'void created.then(',
        put: "(resolve({ kind: 'task', task }), created).then(",
      },
    ],
    cast: 'press',
  },
  {
    name: 'early-end',
    what: 'a handler is given what a step came to before that is kept',
    edits: [
      {
        file: 'engine/journal.ts',
        find: 'await this.#host.flush();\n    this.#ending--;\n    this.#ends.push(end);\n    this.#pump();',
        put: 'this.#ending--;\n    this.#ends.push(end);\n    this.#pump();\n    await this.#host.flush();',
      },
    ],
    cast: 'press',
  },
  {
    name: 'no-begin',
    what: 'an atMostOnce step does not keep its begin before its effect',
    edits: [{ file: 'engine/calls/step.ts', find: 'await run.write((task) => task).finally(over);', put: 'over();' }],
    cast: 'till',
  },
  {
    name: 'late-values',
    what: 'an effect may use a uuid that a crash forgets',
    edits: [
      {
        file: 'engine/calls/step.ts',
        find: 'else if (run.pending || run.journal.holdsUnwrittenValues)',
        put: 'else if (run.pending)',
      },
    ],
    cast: 'nap',
  },
  {
    name: 'no-count',
    what: 'a tool that must not be run again is run again',
    edits: [
      {
        file: 'executors/embedded.ts',
        find: 'if (task.runs > 0) return this.#interrupted(record);',
        put: '',
      },
    ],
    cast: 'fragile',
  },
  {
    name: 'rerun',
    what: 'a replay runs also the steps that are on record',
    edits: [{ file: 'engine/journal.ts', find: 'if (this.#live) start(call);', put: 'start(call);' }],
    cast: 'press',
  },
  {
    name: 'outlived',
    what: 'a handler that returns within a replay does not wait for its subtasks',
    edits: [
      {
        file: 'engine/calls/subtask.ts',
        find: 'return this.#open.size;',
        put: 'return [...this.#open.values()].filter(({ started }) => started).length;',
      },
    ],
    cast: 'generations',
  },
  {
    name: 'made-twice',
    what: 'a replay makes subtasks that are there',
    edits: [
      {
        file: 'engine/calls/subtask.ts',
        find: 'open.call.replayed ? await this.#run.kin.read(open.id) : undefined',
        put: 'undefined as Task | undefined',
      },
    ],
    cast: 'diamond',
  },
  {
    name: 'early-pause',
    what: 'a pause is acknowledged before it is kept',
    edits: [{ file: 'engine/commands/operator.ts', find: 'await store[how](', put: 'void store[how](' }],
    cast: 'lunch',
  },
  {
    name: 'lost-key',
    what: 'a key is known to the process alone that saw it first',
    edits: [
      {
        file: 'engine/idempotency.ts',
        find: 'digestOf(canonical(call.arguments))',
        put: 'digestOf(canonical(call.arguments) + process.pid)',
      },
    ],
    cast: 'order',
  },
];
