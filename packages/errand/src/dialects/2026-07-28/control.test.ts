import { describe, expect, it } from 'vitest';
import { frame, TASK_CLIENT } from '../../../test/fixtures/frames.ts';
import { taskOf } from '../../../test/scripted-engine.ts';
import { assertValidFrame } from '../../../test/wire-schemas.ts';
import type { JsonObject } from '../../json.ts';
import type { TaskEvent } from '../../task/event.ts';
import { createControlResults } from './control.ts';
import { createDecode } from './decode.ts';

const KNOWING = { extensions: { 'dev.errand/tasks': {} } };
const info = { name: 'test', version: '1.0.0' };
const served = { engine: { tools: () => [], hasTool: () => false }, info, backed: true };
const decode = createDecode(served);
const results = createControlResults(served);

const request = (method: string, params: JsonObject, capabilities: JsonObject = KNOWING) => {
  const command = decode(frame(1, method, params, capabilities));
  return command.kind === 'control' ? command.request : command;
};
const checked = (method: string, result: JsonObject): JsonObject => {
  assertValidFrame({ jsonrpc: '2.0', id: 1, result }, { method });
  return result;
};

describe('requests of the extension dev.errand/tasks', () => {
  it.each([
    ['errand/pause', { taskId: 't', reason: 'lunch' }, { act: 'pause', taskId: 't', reason: 'lunch' }],
    ['errand/pause', { taskId: 't' }, { act: 'pause', taskId: 't' }],
    ['errand/resume', { taskId: 't' }, { act: 'resume', taskId: 't' }],
    ['errand/steer', { taskId: 't', message: null }, { act: 'steer', taskId: 't', message: null }],
    ['errand/graph', { taskId: 't' }, { act: 'graph', taskId: 't' }],
    ['errand/events', { taskId: 't' }, { act: 'events', taskId: 't', after: -1, limit: 100 }],
    ['errand/events', { taskId: 't', after: 7, limit: 5000 }, { act: 'events', taskId: 't', after: 7, limit: 100 }],
    ['errand/list', {}, { act: 'list', options: { limit: 100 } }],
    [
      'errand/list',
      { cursor: 'c', limit: 5, statuses: ['working'] },
      { act: 'list', options: { after: 'c', limit: 5, statuses: ['working'] } },
    ],
  ])('%s %j', (method, params: JsonObject, expected) => {
    expect(request(method, params)).toEqual(expected);
  });

  it.each([
    ['errand/pause', { taskId: 't', reason: 7 }, 'reason must be a string'],
    ['errand/resume', {}, 'taskId must be a string'],
    ['errand/steer', { taskId: 't' }, 'message is missing'],
    ['errand/events', { taskId: 't', after: '7' }, 'after must be the number of an event'],
    ['errand/events', { taskId: 't', limit: 0 }, 'limit must be a whole number of 1 or more'],
    ['errand/list', { cursor: 7 }, 'cursor must be a string'],
    ['errand/list', { statuses: ['paused'] }, 'statuses must be an array of working'],
    ['errand/list', { statuses: 'working' }, 'statuses must be an array'],
  ])('are refused where they make no sense: %s %j', (method, params: JsonObject, message) => {
    expect(() => request(method, params)).toThrow(message);
  });

  it('need that their sender declares it, whatever else is wrong with them (as E-11)', () => {
    for (const capabilities of [{}, TASK_CLIENT]) {
      expect(() => request('errand/pause', {}, capabilities)).toThrow(
        expect.objectContaining({
          code: -32021,
          data: { requiredCapabilities: { extensions: { 'dev.errand/tasks': {} } } },
        }),
      );
    }
  });

  it('are none where the method is unknown, and no backend is asked for it (as E-20)', () => {
    expect(() => request('errand/stop', {})).toThrow(expect.objectContaining({ code: -32601, status: 404 }));
  });

  it('need no tasks extension, and give none', () => {
    expect(() => request('tasks/get', { taskId: 't' })).toThrow(expect.objectContaining({ code: -32021 }));
  });
});

describe('results of the extension', () => {
  it('show a task as a read does, for who knows the extension', () => {
    const task = taskOf('t', { paused: true, statusMessage: 'paused' });
    expect(checked('tasks/get', results.task(task))).toMatchObject({
      resultType: 'complete',
      taskId: 't',
      status: 'working',
      statusMessage: 'paused',
      _meta: { 'dev.errand/tasks': { paused: true }, 'io.modelcontextprotocol/serverInfo': info },
    });
  });

  it('show each task of a graph with where it hangs in it', () => {
    const parent = { id: 'root', root: 'root', key: 'b', path: 'b', after: ['a'] };
    const tasks = [
      taskOf('root', { subtasks: 2, progress: { done: 1, total: 2, rolledUp: true } }),
      taskOf('two', { parent, blocked: true, tool: 'other' }),
    ];
    const graph = checked('errand/graph', results.graph({ tasks, truncated: false }));
    expect(graph).toMatchObject({ resultType: 'complete', truncated: false });
    expect(graph['nodes']).toEqual([
      { taskId: 'root', tool: 'work', status: 'working', progress: 1, progressTotal: 2, subtasks: 2 },
      {
        taskId: 'two',
        tool: 'other',
        status: 'working',
        parentTaskId: 'root',
        key: 'b',
        path: 'b',
        after: ['a'],
        blocked: true,
      },
    ]);
  });

  it('show events with their times as this wire writes them', () => {
    const at = Date.UTC(2026, 6, 28);
    const events: TaskEvent[] = [
      { seq: 0, at, kind: 'created', tool: 'work' },
      { seq: 1, at, kind: 'slept', until: at + 1 },
      { seq: 2, at, kind: 'retried', attempt: 1, failure: { name: 'Error', message: 'no' }, next: at + 2 },
      { seq: 3, at, kind: 'ended', status: 'completed' },
    ];
    const page = checked('errand/events', results.events({ events, next: 3, ended: true }));
    expect(page).toMatchObject({ next: 3, ended: true });
    expect(page['events']).toEqual([
      { seq: 0, at: '2026-07-28T00:00:00.000Z', kind: 'created', tool: 'work' },
      { seq: 1, at: '2026-07-28T00:00:00.000Z', kind: 'slept', until: '2026-07-28T00:00:00.001Z' },
      {
        seq: 2,
        at: '2026-07-28T00:00:00.000Z',
        kind: 'retried',
        attempt: 1,
        failure: { name: 'Error', message: 'no' },
        next: '2026-07-28T00:00:00.002Z',
      },
      { seq: 3, at: '2026-07-28T00:00:00.000Z', kind: 'ended', status: 'completed' },
    ]);
  });

  it('list tasks without what they came to, and say where the list goes on', () => {
    const outcome = { kind: 'result', result: { content: [] } } as const;
    const list = checked(
      'errand/list',
      results.list({ tasks: [taskOf('t', { status: 'completed', outcome })], next: 't' }),
    );
    expect(list).toMatchObject({ tasks: [{ taskId: 't', status: 'completed' }], nextCursor: 't' });
    expect((list['tasks'] as JsonObject[])[0]).not.toHaveProperty('result');
    expect(results.list({ tasks: [] })).not.toHaveProperty('nextCursor');
  });
});
