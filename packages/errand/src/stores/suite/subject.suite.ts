import { setImmediate as nextIteration } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Store } from '../../store.ts';
import type { BeginEntry, EndEntry, JournalEntry } from '../../task/journal.ts';
import type { Parent, Task } from '../../task/task.ts';
import { created } from '../../task/transitions.ts';

/** What a test is about: a store that is open and empty, and the time that its clock shows. */
export interface Subject {
  store: Store;
  time: number;
}

/** A task at its creation. */
export function newTask(store: Store): Task {
  return created(
    {
      id: store.newId(),
      principal: 'local',
      tool: 'transcode',
      toolVersion: '1',
      arguments: { url: 'file:///a.mp4' },
      seed: 'seed',
      capabilities: {},
      deadlineMs: 60_000,
      retentionMs: 60_000,
      pollIntervalMs: 1000,
    },
    store.now(),
  );
}

/** Keeps a new task, with a journal. */
export function create(store: Store, task: Task, entries: readonly JournalEntry[] = []): Promise<Task> {
  return store.create(() => ({ task, entries }));
}

/** Makes so many tasks with journals, and lets them expire. */
export async function makeAndExpire(store: Store, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1000) {
    await Promise.all(Array.from({ length: 1000 }, () => create(store, newTask(store), [begin(0, 'a')])));
  }
  while ((await store.expire(store.now() + 1_000_000, 1000)) > 0);
}

export function begin(seq: number, name: string): BeginEntry {
  return { seq, type: 'begin', kind: 'step', name, ordinal: 1 };
}

export function end(seq: number, begun: number, outcome: EndEntry['outcome']): EndEntry {
  return { seq, type: 'end', begin: begun, outcome };
}

/** Every field set (that is what `Required` sees to), with texts that are no plain ASCII. */
export function richTask(store: Store): Required<Task> & { readonly parent: Required<Parent> } {
  return {
    ...newTask(store),
    version: 4,
    principal: JSON.stringify(['https://issuer.example', 'tenant', 'sub"ject', null]),
    arguments: { text: 'Grüße 🚀 \u0000', nested: { list: [1.5, true, null] } },
    prepared: { found: [] },
    capabilities: { elicitation: { form: true, url: false }, sampling: { tools: true, context: false }, roots: true },
    status: 'completed',
    statusMessage: '',
    progress: { done: 0.5, total: 3 },
    inputs: {
      open: { request: { method: 'roots/list', params: {} }, state: 'withdrawn' },
      ['__proto__']: {
        request: { method: 'elicitation/create', params: { message: '?' } },
        state: 'answered',
        response: { action: 'accept', content: { go: true } },
      },
    },
    outcome: { kind: 'result', result: { content: [{ type: 'text', text: 'done' }], isError: true } },
    epoch: 3,
    wakeAt: 0,
    runs: 2,
    held: 'why',
    paused: true,
    blocked: true,
    steering: ['hurry', { by: 3 }],
    retries: 2,
    subtasks: 4,
    parent: { id: store.newId(), root: store.newId(), key: 'ü', path: 'a/ü', after: ['b'], weight: 0.5 },
    scopes: ['read', 'write'],
    idempotency: { key: 'key "1"', digest: 'digest' },
    cleanUp: store.newId(),
    cleansUp: { id: store.newId(), principal: 'local' },
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    birth: { session: 'one', progressToken: 7 },
  };
}

export function describeAs(message: string) {
  return (task: Task) => ({ task: { ...task, statusMessage: message } });
}

export function listen(store: Store): Task[] {
  const heard: Task[] = [];
  store.subscribe((task) => heard.push(task));
  return heard;
}

/** When the listeners of commits that were answered have heard of them. */
export async function settled(): Promise<void> {
  await nextIteration();
  await nextIteration();
}

export function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
