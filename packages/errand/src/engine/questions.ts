import { toMs, type Duration } from '../duration.ts';
import { isObject, jsonCopy, type JsonObject, type JsonValue } from '../json.ts';
import { checkSize, type Limits } from '../limits.ts';
import { check, describeSchema } from '../schema.ts';
import type { InputCapabilities, InputRequest } from '../task/input.ts';
import { requireCapability } from './capabilities.ts';
import { AnswerRejected } from './failures.ts';
import type { ElicitForm, ElicitUrl, InputOptions, Questions, Root, SampleAnswer, SampleRequest } from './context.ts';

/** A question as it goes to whoever can put it to the client. */
export interface Question {
  readonly key: string;
  readonly request: InputRequest;
  /** For how long it may stay open, in ms. */
  readonly timeout?: number | undefined;
  /** Withdraws it. */
  readonly signal?: AbortSignal | undefined;
}

/** The questions of a handler, over `ask`, which puts one to the client and resolves with its answer. */
export function createQuestions(
  capabilities: InputCapabilities,
  limits: Limits,
  ask: (question: Question) => Promise<JsonValue>,
): Questions {
  const used = new Set<string>();

  const put = (key: string, request: InputRequest, options: InputOptions): Promise<JsonValue> => {
    if (typeof key !== 'string' || key === '')
      throw new TypeError('a question needs a key: a text that is unique in its task');
    requireCapability(capabilities, request);
    if (used.has(key)) {
      throw new TypeError(`the input key "${key}" was used before in this task; each question needs a key of its own`);
    }
    checkSize(request as unknown as JsonObject, limits.stepBytes, `question "${key}"`);
    used.add(key);
    return ask({ key, request, timeout: timeoutOf(key, options.timeout), signal: options.signal });
  };

  async function elicit(key: string, question: ElicitForm | ElicitUrl): Promise<never> {
    const answer = (await put(key, elicitation(key, question), question)) as JsonObject;
    if (answer['action'] !== 'accept') return { action: answer['action'] } as never;
    if ('url' in question) return { action: 'accept', content: undefined } as never;
    const checked = await check(question.schema, answer['content']);
    if ('issues' in checked) throw new AnswerRejected(key, checked.issues);
    return { action: 'accept', content: checked.value } as never;
  }

  return {
    can: (kind) => capabilities[kind] !== undefined,
    elicit,
    async sample(key, request) {
      return (await put(key, sampling(key, request), request)) as unknown as SampleAnswer;
    },
    async roots(key, options = {}) {
      const answer = (await put(key, { method: 'roots/list', params: {} }, options)) as { roots: unknown };
      return answer.roots as readonly Root[];
    },
  };
}

function elicitation(key: string, question: ElicitForm | ElicitUrl): InputRequest {
  const given: unknown = question;
  if (!isObject(given) || typeof given['message'] !== 'string')
    throw new TypeError(`question "${key}": elicit takes { message, schema }, or { message, url }`);
  const { message } = question;
  if ('url' in question) return { method: 'elicitation/create', params: { mode: 'url', message, url: question.url } };
  const what = `question "${key}"`;
  if (!isObject(question.schema) && typeof question.schema !== 'function')
    throw new TypeError(`${what}: elicit needs a schema, of the form to fill in, or a url, of the page to visit`);
  const { type, properties, required } = describeSchema(question.schema, 'input', what);
  if (type !== 'object' || !isObject(properties))
    throw new TypeError(`${what}: the schema of a form describes an object`);
  for (const [name, property] of Object.entries(properties)) checkField(what, name, property);
  const requestedSchema = jsonCopy({ type, properties, required }, what);
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } };
}

/** Forms are flat: each field is a primitive, or a choice of several texts. */
function checkField(what: string, name: string, property: unknown): void {
  const { type, enum: choices, oneOf, items } = isObject(property) ? property : {};
  const primitive = type === 'string' || type === 'number' || type === 'integer' || type === 'boolean';
  const choice = Array.isArray(choices) || Array.isArray(oneOf);
  const several =
    type === 'array' && isObject(items) && (Array.isArray(items['enum']) || Array.isArray(items['anyOf']));
  if (primitive || choice || several) return;
  throw new TypeError(`${what}: field "${name}" of a form must be a text, number, boolean, choice or list of choices`);
}

function sampling(key: string, { timeout: _, signal: __, ...params }: SampleRequest): InputRequest {
  return { method: 'sampling/createMessage', params: jsonCopy(params, `question "${key}"`) as JsonObject };
}

function timeoutOf(key: string, timeout: Duration | undefined): number | undefined {
  return timeout === undefined ? undefined : toMs(timeout, `question "${key}": timeout`);
}
