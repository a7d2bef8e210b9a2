import type { Clock } from '../clock.ts';
import { ErrandError, missingCapability } from '../errors.ts';
import type { Executor } from '../executor.ts';
import type { Logger } from 'pino';
import { jsonCopy, type JsonValue } from '../json.ts';
import { checkSize, type Limits } from '../limits.ts';
import { check } from '../schema.ts';
import type { Store } from '../store.ts';
import type { InputResponse } from '../task/input.ts';
import type { Task, TaskOutcome } from '../task/task.ts';
import type { Admission } from './admission.ts';
import { refusedArguments } from './arguments.ts';
import type { TaskCommands } from './commands.ts';
import type { Questions } from './context.ts';
import { contained } from './containment.ts';
import type { CallAnswer, Caller, Engine, OnTask, ToolCall } from './engine.ts';
import type { Handoff } from './handoff.ts';
import { plain, type Holding } from './holding.ts';
import { keyInVain } from './idempotency.ts';
import { newTask } from './new-task.ts';
import { createOnce, isKeyed } from './once.ts';
import { createPlainContext } from './plain-context.ts';
import type { RegisteredTool, Registry } from './registry.ts';
import type { RequestStates } from './request-state.ts';
import { toOutcome, toResult } from './results.ts';
import { playRound } from './rounds.ts';
import { onAbort } from './waiting.ts';
import type { Waits } from './waits.ts';

/** The capability that a client must declare where a tool can only answer with a task. */
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

export interface CallingParts {
  readonly store: Store;
  readonly executor: Executor;
  readonly tools: Registry;
  readonly states: RequestStates;
  readonly commands: TaskCommands;
  readonly holding: Holding;
  readonly handoff: Handoff;
  readonly waits: Waits;
  readonly admission: Admission;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Logger;
}

type Answers = Readonly<Record<string, InputResponse>>;

/** Answers calls of tools: with a result, with a task, or with questions. */
export function createCalling({
  store,
  executor,
  tools,
  states,
  commands,
  holding,
  handoff,
  waits,
  admission,
  limits,
  clock,
  log,
}: CallingParts): Engine['call'] {
  const once = createOnce({ store, commands, holding, waits, admission });
  return async function answerCall(call, caller, onTask) {
    const tool = tools.get(call.tool);
    if (tool === undefined) {
      if (handoff.has(call.tool)) return { kind: 'result', result: await handoff.call(call, caller, onTask) };
      throw new ErrandError('unknownTool', `Unknown tool: ${call.tool}`);
    }
    if (tool.hold.withoutTasks === 'refuse' && !call.takesTasks) {
      throw missingCapability(
        TASKS,
        `tool "${tool.name}" answers with a task only; declare the extension io.modelcontextprotocol/tasks`,
      );
    }
    checkSize(call.arguments, limits.argumentBytes, `the arguments of tool "${tool.name}"`);
    const carried =
      call.requestState === undefined ? undefined : states.open(caller.principal, call, call.requestState);
    if (carried?.kind === 'task') return holding.goOn(tool, call, caller, carried.taskId, onTask);
    const args = tool.inputSchema ? await check(tool.inputSchema, call.arguments) : { value: call.arguments };
    if ('issues' in args) return { kind: 'result', result: refusedArguments(tool.name, args.issues) };
    // The first answer to a question is the one that counts, also from one round to the next.
    const answers = { ...call.inputResponses, ...carried?.answers };
    if (tool.task === 'never') {
      if (isKeyed(call)) throw keyInVain(tool.name);
      return callPlain(tool, call, caller, args.value, answers);
    }
    if (tool.prepare === undefined) return begin(tool, call, caller, undefined, onTask);
    // What was prepared once is not asked again.
    const before = isKeyed(call) ? await once.again(tool, call, caller, onTask) : undefined;
    return before ?? prepared(tool, tool.prepare, call, caller, args.value, answers, onTask);
  };

  /** A tool without tasks: its handler asks by being called again. */
  async function callPlain(
    tool: RegisteredTool,
    call: ToolCall,
    caller: Caller,
    args: unknown,
    answers: Answers,
  ): Promise<CallAnswer> {
    const { handler } = tool.versions.get(tool.version)!;
    const work = async (ask: Questions): Promise<TaskOutcome> => {
      const result = await toResult(tool, limits, await handler(args, createPlainContext(tool, caller, ask, log)));
      return { kind: 'result', result };
    };
    const round = await playRound(call.capabilities, answers, limits, (ask) =>
      contained(() => work(ask)).catch(toOutcome),
    );
    return round.kind === 'done' ? plain(round.value) : askAgain(call, caller, answers, round.requests);
  }

  /** Asks what must be known before there is a task (E-17), then begins. */
  async function prepared(
    tool: RegisteredTool,
    prepare: NonNullable<RegisteredTool['prepare']>,
    call: ToolCall,
    caller: Caller,
    args: unknown,
    answers: Answers,
    onTask: OnTask | undefined,
  ): Promise<CallAnswer> {
    const work = async (ask: Questions): Promise<{ readonly prepared: JsonValue } | TaskOutcome> => ({
      prepared: jsonCopy(await prepare(args, ask), `what prepare of tool "${tool.name}" returned`),
    });
    const round = await playRound(call.capabilities, answers, limits, (ask) =>
      contained(() => work(ask)).catch(toOutcome),
    );
    if (round.kind === 'input') return askAgain(call, caller, answers, round.requests);
    return 'prepared' in round.value ? begin(tool, call, caller, round.value.prepared, onTask) : plain(round.value);
  }

  function askAgain(
    call: ToolCall,
    { principal }: Caller,
    answers: Answers,
    requests: Extract<CallAnswer, { kind: 'input' }>['requests'],
  ): CallAnswer {
    return { kind: 'input', requests, requestState: states.seal(principal, call, { kind: 'answers', answers }) };
  }

  async function begin(
    tool: RegisteredTool,
    call: ToolCall,
    caller: Caller,
    prepared: JsonValue | undefined,
    onTask: OnTask | undefined,
  ): Promise<CallAnswer> {
    if (isKeyed(call)) return once.begin(tool, call, caller, prepared, onTask);
    const { begun, answered } = await admission.admit(caller.principal, tool.name);
    let made = false;
    try {
      const task = newTask(store, tool, call, caller, prepared);
      const answering = answerAs(tool, call, caller, task, onTask);
      begun(task.id);
      const answer = await answering;
      made = answer.kind !== 'result' || answer.task !== undefined;
      return answer;
    } finally {
      answered(made);
    }
  }

  function answerAs(
    tool: RegisteredTool,
    call: ToolCall,
    caller: Caller,
    task: Task,
    onTask: OnTask | undefined,
  ): Promise<CallAnswer> {
    if (!call.takesTasks) return holding.begin(tool, call, caller, task, onTask);
    return tool.task === 'always' || call.wantsTask ? createTask(tool, task) : attempt(tool, caller, task);
  }

  /**
   * Makes a task at once. Where the handler is replayed, its first run begins before the commit, which then holds
   * what came of it: such a handler has effects in its steps only, and steps wait for the commit.
   */
  async function createTask(tool: RegisteredTool, task: Task): Promise<CallAnswer> {
    if (!tool.replay) return { kind: 'task', task: await store.create(() => ({ task })) };
    const { outcome, persist } = executor.attempt(task, { sleepPersists: true });
    persist();
    const came = await outcome;
    return came.kind === 'task' ? came : plain(came.outcome);
  }

  /** Runs a call that becomes a task when it takes longer than the tool's patience. */
  async function attempt(tool: RegisteredTool, caller: Caller, task: Task): Promise<CallAnswer> {
    const { outcome, persist, abandon } = executor.attempt(task, { sleepPersists: true });
    const stopPatience = clock.after(tool.patienceMs, persist);
    const stop = onAbort(caller.signal, abandon);
    try {
      const came = await outcome;
      return came.kind === 'task' ? came : plain(came.outcome);
    } finally {
      stopPatience();
      stop();
    }
  }
}
