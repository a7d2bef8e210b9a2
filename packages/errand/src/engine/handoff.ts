import { ErrandError, type ErrorName } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { check, describeSchema, jsonSchema } from '../schema.ts';
import type { Principal } from '../task/principal.ts';
import { isTerminal, type ToolResult } from '../task/task.ts';
import { placeOf } from './answers.ts';
import { refusedArguments } from './arguments.ts';
import { isAsking, openQuestions } from './below.ts';
import type { TaskCommands } from './commands.ts';
import type { Caller, ListedTool, OnTask, ToolCall } from './engine.ts';
import { ANSWER_TOOL, CANCEL_TOOL, HANDOFF_TOOLS, STATUS_TOOL } from './handoff/names.ts';
import { standing, told, unanswered, waitWords } from './handoff/words.ts';
import { handsOff } from './hold.ts';
import type { Registry } from './registry.ts';
import { stateAfter } from './waiting.ts';
import type { Waits } from './waits.ts';

/** How long `task_status` waits for news unless it is told, and at most, in seconds: hosts give calls up after 60. */
const WAIT_S = 20;
const LONGEST_WAIT_S = 30;

/** The plain tools by which a model follows calls that were handed off, for clients that know nothing of tasks. */
export interface Handoff {
  /** As clients list them; none where no tool may hand off. */
  listed(): readonly ListedTool[];
  has(name: string): boolean;
  /** Answers a call of one of them. What a model can mend comes as a result with `isError`. */
  call(call: ToolCall, caller: Caller, onTask?: OnTask): Promise<ToolResult>;
}

export interface HandoffParts {
  readonly commands: TaskCommands;
  readonly tools: Registry;
  readonly waits: Waits;
  /** The turn of a principal that reads a task; `undefined` where it is now. */
  readonly pace: (principal: Principal) => Promise<void> | undefined;
}

/** What a model reads as a result, since it can do something about it. */
const TOLD: ReadonlySet<ErrorName> = new Set(['taskNotFound', 'invalidAnswer', 'tooLarge', 'overloaded']);

export function createHandoff({ commands, tools, waits, pace }: HandoffParts): Handoff {
  const offered = (): boolean => [...tools.values()].some(({ hold }) => handsOff(hold));

  async function status({ taskId, wait = WAIT_S }: StatusArguments, caller: Caller, onTask?: OnTask) {
    await pace(caller.principal);
    const ms = Math.min(wait, LONGEST_WAIT_S) * 1000;
    return standing(await stateAfter(waits.begin(ms), commands, taskId, caller, onTask));
  }

  async function answer({ taskId, answers }: AnswerArguments, { principal }: Caller): Promise<ToolResult> {
    const before = await commands.read(principal, taskId);
    const keys = Object.keys(answers);
    if (keys.length === 0) return unanswered(before, 'No answer was given, as `answers` is empty.');
    const asked = openQuestions(before);
    const task = await commands.answer(principal, taskId, answers);
    const taken = keys.filter((key) => Object.hasOwn(asked, key));
    const ignored = keys.filter((key) => !Object.hasOwn(asked, key));
    if (taken.length === 0 && isAsking(before)) return unanswered(before, leftOut(ignored));
    const words = [
      taken.length > 0 && `Task ${taskId} has its answer to ${quoted(taken)}.`,
      ignored.length > 0 && leftOut(ignored),
      isTerminal(task) ? `It has ended; ${STATUS_TOOL} tells how.` : waitWords(task),
    ];
    return told(task, words.filter(Boolean).join(' '));
  }

  async function cancel({ taskId }: TaskArguments, { principal }: Caller): Promise<ToolResult> {
    const task = await commands.cancel(principal, taskId);
    return task.status === 'cancelled'
      ? standing(task)
      : told(task, `Task ${taskId} had ended before; ${STATUS_TOOL} tells how.`);
  }

  async function act(name: string, args: unknown, caller: Caller, onTask?: OnTask): Promise<ToolResult> {
    switch (name) {
      case STATUS_TOOL:
        return status(args as StatusArguments, caller, onTask);
      case ANSWER_TOOL:
        return answer(args as AnswerArguments, caller);
      default:
        return cancel(args as TaskArguments, caller);
    }
  }

  return {
    listed: () => (offered() ? TOOLS.map(({ listed }) => listed) : []),
    has: (name) => HANDOFF_TOOLS.has(name) && offered(),
    async call(call, caller, onTask) {
      const { inputSchema } = TOOLS.find(({ listed }) => listed.name === call.tool)!;
      const args = await check(inputSchema, call.arguments);
      if ('issues' in args) return refusedArguments(call.tool, args.issues);
      try {
        return await act(call.tool, args.value, caller, onTask);
      } catch (error) {
        if (error instanceof ErrandError && TOLD.has(error.kind)) return refusal(error);
        throw error;
      }
    },
  };
}

interface TaskArguments {
  readonly taskId: string;
}

interface StatusArguments extends TaskArguments {
  /** In seconds. */
  readonly wait?: number;
}

interface AnswerArguments extends TaskArguments {
  readonly answers: Readonly<Record<string, unknown>>;
}

function refusal(error: ErrandError): ToolResult {
  const { code, message, data } = error.kind === 'invalidAnswer' ? inAnswers(error) : error;
  const text =
    error.kind === 'taskNotFound'
      ? 'Task not found: check the taskId. A task that ended long ago is not kept; then make the call again.'
      : message;
  return {
    content: [{ type: 'text', text }],
    structuredContent: { error: { code, message, ...(data !== undefined && { data }) } },
    isError: true,
  };
}

/** The error of a wrong answer, with the place that the model wrote it at, instead of that in `tasks/update`. */
function inAnswers({ code, message, data }: ErrandError) {
  const { key, path } = data as { readonly key: string; readonly path: string };
  const place = /^[A-Za-z_$][\w$]*$/.test(key) ? `answers.${key}` : `answers[${JSON.stringify(key)}]`;
  const moved = `${place}${path.slice(placeOf(key).length)}`;
  return { code, message: message.replace(path, () => moved), data: { key, path: moved } };
}

function leftOut(keys: readonly string[]): string {
  return `It does not ask ${quoted(keys)} (any more), so that was left out.`;
}

function quoted(keys: readonly string[]): string {
  return keys.map((key) => JSON.stringify(key)).join(', ');
}

const TASK_ID: JsonObject = { type: 'string', description: 'The taskId that the call was answered with' };

const TOOLS = [
  tool({
    name: STATUS_TOOL,
    title: 'Status of a task',
    description: `Gives the result of a call that was answered with a taskId, or says how far it is. Waits until there is news, so it can be called again at once.`,
    properties: {
      taskId: TASK_ID,
      wait: {
        type: 'number',
        minimum: 0,
        description: `For how many seconds to wait, ${LONGEST_WAIT_S} at most; ${WAIT_S} if left out`,
      },
    },
    required: ['taskId'],
    annotations: { readOnlyHint: true, openWorldHint: false },
  }),
  tool({
    name: ANSWER_TOOL,
    title: 'Answer a task',
    description: `Answers what a task asks, as ${STATUS_TOOL} said. Questions to the user are for the user to answer.`,
    properties: {
      taskId: TASK_ID,
      answers: { type: 'object', description: 'The answers, each under the key of its question' },
    },
    required: ['taskId', 'answers'],
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  }),
  tool({
    name: CANCEL_TOOL,
    title: 'Cancel a task',
    description: 'Ends a task for good, without a result.',
    properties: { taskId: TASK_ID },
    required: ['taskId'],
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  }),
];

function tool({
  properties,
  required,
  ...rest
}: Omit<ListedTool, 'inputSchema'> & { properties: JsonObject; required: string[] }) {
  const inputSchema = jsonSchema({ type: 'object', properties, required });
  return { inputSchema, listed: { ...rest, inputSchema: describeSchema(inputSchema, 'input', rest.name) } };
}
