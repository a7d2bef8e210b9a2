import type { SessionCommand } from '../../dialect.ts';
import { isAsking } from '../../engine/below.ts';
import type { Engine, SeenTask } from '../../engine/engine.ts';
import { ErrandError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import type { JsonRpcRequest } from '../../jsonrpc.ts';
import type { Principal } from '../../task/principal.ts';
import { isTerminal } from '../../task/task.ts';
import type { Backend } from '../backend.ts';
import type { Inbound } from '../exchange.ts';
import { callTool } from './calls.ts';
import type { Channel } from './channel.ts';
import type { Live } from './live.ts';
import { askBackend, passOn } from './passing.ts';
import type { Tokens } from './token.ts';

export interface AnsweringParts {
  readonly engine: Engine;
  readonly backend: Backend | undefined;
  readonly tokens: Tokens;
}

/** So many tasks are listed at once. */
const PAGE = 50;

/** Runs what a session asks for. Resolves with its result on the wire; rejects with an `RpcError`. */
export async function answerCommand(
  { engine, backend, tokens }: AnsweringParts,
  live: Live,
  command: SessionCommand,
  request: JsonRpcRequest,
  inbound: Inbound,
  channel: Channel,
): Promise<JsonObject> {
  const { principal, dialect } = live.session;
  switch (command.kind) {
    case 'ping':
      return {};
    case 'list': {
      // Ours are all on the first page; every later one is the backend's.
      const isFirst = command.cursor === undefined;
      const theirs = await askBackend(backend, dialect, request, inbound, !isFirst);
      return dialect.listed(isFirst ? engine.tools(command.takesTasks) : [], theirs);
    }
    case 'call':
      if (engine.hasTool(command.call.tool)) return callTool(engine, live, command, inbound, channel);
      if (backend === undefined) throw new ErrandError('unknownTool', `Unknown tool: ${command.call.tool}`);
      return passOn(backend, live, request, inbound, channel);
    case 'read':
      return dialect.read(noticed(live, await seen(engine, live, command.taskId)));
    case 'result':
      await seen(engine, live, command.taskId);
      return dialect.result!(await untilEnded(live, command.taskId, channel));
    case 'continue':
      return goOn(engine, live, command);
    case 'answer':
      return dialect.answered!(await engine.answer(principal, command.taskId, command.responses));
    case 'cancel':
      return dialect.cancelled(await cancel(engine, live, command.taskId));
    case 'tasks':
      return list(engine, live, tokens, command.cursor);
    case 'follow':
      live.followResource(command.uri, command.on);
      return {};
    case 'logs':
      live.logLevel = command.level;
      return {};
    case 'foreign':
      return passOn(backend!, live, request, inbound, channel);
  }
}

/** A task as the client sees it. Where that knows of no subtasks there are none: what it can see, it can list (L-41). */
async function seen(engine: Engine, { session }: Live, taskId: string): Promise<SeenTask> {
  const { principal, dialect } = session;
  const task = await engine.read(principal, taskId, dialect.knowsSubtasks);
  if (task.parent !== undefined && !dialect.knowsSubtasks) throw new ErrandError('taskNotFound', 'Task not found');
  return task;
}

/** Answers what a task asks, and says where it stands, without waiting for anything (K-7 to K-11). */
async function goOn(
  engine: Engine,
  live: Live,
  { taskId, responses }: Extract<SessionCommand, { kind: 'continue' }>,
): Promise<JsonObject> {
  const { principal, dialect } = live.session;
  if (responses !== undefined) {
    const task = await engine.answer(principal, taskId, responses);
    // As the answers left it: what comes of them is for the next time. It may still ask other things (M-8).
    if (task.status !== 'input_required' && task.subtasks === undefined) return dialect.read(noticed(live, task));
  }
  const task = noticed(live, await seen(engine, live, taskId));
  if (dialect.asks === 'by request' && isAsking(task)) {
    // The questions go out before the answer, on its stream if there is no other (K-16).
    await live.follow(taskId).known();
    live.asking.place();
  }
  return dialect.continued!(task);
}

/** A client that looks at a task hears of it from then on, if there is a way. */
function noticed(live: Live, task: SeenTask): SeenTask {
  if (!isTerminal(task)) live.notice(task);
  return task;
}

/** Waits for a task to end, with any number of others, until the client takes the request back (L-23, L-27). */
async function untilEnded(live: Live, taskId: string, { signal }: Channel): Promise<SeenTask> {
  const following = live.follow(taskId);
  // What it asks may have found no way to the client before this one.
  live.asking.place();
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error);
    if (signal.aborted) return giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    following
      .ended()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', giveUp));
  });
}

/** Ends a task that has not ended (L-43, L-44). */
async function cancel(engine: Engine, live: Live, taskId: string): Promise<SeenTask> {
  const { principal } = live.session;
  const refuse = (status: string): never => {
    throw new ErrandError('invalidParams', `Invalid params: the task has ended (${status}), so it cannot be cancelled`);
  };
  const before = await seen(engine, live, taskId);
  if (isTerminal(before)) refuse(before.status);
  const task = await engine.cancel(principal, taskId);
  if (task.status !== 'cancelled') refuse(task.status);
  return task;
}

async function list(
  engine: Engine,
  { session }: Live,
  tokens: Tokens,
  cursor: string | undefined,
): Promise<JsonObject> {
  const { principal, dialect } = session;
  const after = cursor === undefined ? undefined : placeOf(tokens, principal, cursor);
  const { tasks, next } = await engine.control.list(principal, { limit: PAGE, ...(after !== undefined && { after }) });
  return dialect.tasks(tasks, next === undefined ? undefined : tokens.cursor(principal, next));
}

function placeOf(tokens: Tokens, principal: Principal, cursor: string): string {
  const after = tokens.openCursor(principal, cursor);
  if (after === undefined) throw new ErrandError('invalidParams', 'Invalid params: cursor is not one of ours');
  return after;
}
