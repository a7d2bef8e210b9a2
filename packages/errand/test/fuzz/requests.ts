import fc from 'fast-check';
import type { JsonObject } from '../../src/json.ts';
import { PLAIN_CLIENT, TASK_CLIENT } from '../fixtures/frames.ts';

/** A valid request. The texts `$task` and `$state` stand for ids and states that the server gave out. */
export interface Template {
  readonly method: string;
  readonly params: JsonObject;
  readonly capabilities: JsonObject;
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const go = fc.record({ go: fc.boolean() }).map((content): JsonObject => ({ action: 'accept', content }));
const answer = fc.oneof(go, fc.constantFrom<JsonObject>({ action: 'decline' }, { action: 'cancel' }));
const roots = fc.constant<JsonObject>({ roots: [{ uri: 'file:///home' }] });
const answers = fc.record({ approve: answer, where: roots }, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
const taskId = fc.oneof({ weight: 6, arbitrary: fc.constant('$task') }, fc.base64String({ maxLength: 40 }));

const of = (method: string, params: fc.Arbitrary<JsonObject>) => fc.record({ method: fc.constant(method), params });
const tool = (name: string, args: fc.Arbitrary<JsonObject>, more: Record<string, fc.Arbitrary<unknown>> = {}) =>
  of('tools/call', fc.record({ name: fc.constant(name), arguments: args, ...more }));
const none = fc.constant<JsonObject>({});
const withText = fc.record({ text });

const filter = fc.record(
  {
    taskIds: fc.array(taskId, { maxLength: 3 }),
    toolsListChanged: fc.boolean(),
    resourceSubscriptions: fc.constant(['test://static-text']),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;

const argument = fc.record({ name: fc.constantFrom('arg1', 'arg2'), value: text });
const prompt = fc.constant({ type: 'ref/prompt', name: 'test_prompt_with_arguments' });

/** Every method, ours as well as those of the SDK server behind us, and some that are none. */
const calls = fc.oneof(
  of('server/discover', none),
  of('tools/list', none),
  tool('echo', withText),
  tool('note', withText),
  tool('ask', none),
  tool('nap', none),
  tool('broken', none),
  tool('rounds', none),
  tool('rounds', none, { inputResponses: answers, requestState: fc.constant('$state') }),
  tool('routed', fc.record({ region: text })),
  tool('test_image_content', none),
  of('tasks/get', fc.record({ taskId })),
  of('tasks/get', fc.record({ taskId })),
  of('tasks/update', fc.record({ taskId, inputResponses: answers })),
  of('tasks/cancel', fc.record({ taskId })),
  of('subscriptions/listen', fc.record({ notifications: filter })),
  of('prompts/list', none),
  of('prompts/get', fc.constant({ name: 'test_simple_prompt' })),
  of(
    'prompts/get',
    fc.record({ name: fc.constant('test_prompt_with_arguments'), arguments: fc.record({ arg1: text, arg2: text }) }),
  ),
  of('resources/list', none),
  of('resources/templates/list', none),
  of('resources/read', fc.constantFrom({ uri: 'test://static-text' }, { uri: 'test://template/7/data' })),
  of('tasks/list', none),
  of('ping', none),
  of('completion/complete', fc.record({ ref: prompt, argument })),
);

const capabilities = fc.oneof({ weight: 8, arbitrary: fc.constant(TASK_CLIENT) }, fc.constantFrom(PLAIN_CLIENT, {}));

export const templates: fc.Arbitrary<Template> = fc
  .tuple(calls, capabilities)
  .map(([call, declared]) => ({ ...call, capabilities: declared }));
