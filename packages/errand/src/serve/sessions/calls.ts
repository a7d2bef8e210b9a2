import type { SessionCommand } from '../../dialect.ts';
import { isAsking } from '../../engine/below.ts';
import type { Engine, SeenTask } from '../../engine/engine.ts';
import { onAbort } from '../../engine/waiting.ts';
import { RpcError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import type { InputRequest, InputResponse } from '../../task/input.ts';
import type { Inbound } from '../exchange.ts';
import { heldProgress } from '../held/progress.ts';
import type { Channel } from './channel.ts';
import type { Live } from './live.ts';
import { NOT_ASKED } from './questions.ts';

type CallCommand = Extract<SessionCommand, { kind: 'call' }>;

/** Calls a tool of ours for the client of a session, which is asked meanwhile what the call asks. */
export async function callTool(
  engine: Engine,
  live: Live,
  { call, progressToken }: CallCommand,
  inbound: Inbound,
  channel: Channel,
): Promise<JsonObject> {
  const { key, principal, dialect } = live.session;
  const birth = key !== undefined && { session: key, ...(progressToken !== undefined && { progressToken }) };
  const made = call.takesTasks && birth ? { ...call, birth } : call;
  const caller = { ...callerOf(inbound), principal, signal: channel.signal };
  const tell = progressToken === undefined ? undefined : teller(live, channel, progressToken);
  let answer = await engine.call(made, caller, tell);
  while (answer.kind === 'input' && dialect.asks === 'by request') {
    if (answer.task) {
      const task = await untilAnswered(engine, live, channel, answer.task, answer.otherwise !== undefined);
      if (isAsking(task)) return dialect.called({ kind: 'result', result: answer.otherwise!(task), task }, call);
    }
    const inputResponses = answer.task ? undefined : await askAll(live, channel, answer.requests);
    const { requestState } = answer;
    answer = await engine.call({ ...made, requestState, ...(inputResponses && { inputResponses }) }, caller, tell);
  }
  const result = dialect.called(answer, call);
  // The client must have the id of its task before it hears of it otherwise; it was told that it works.
  if (answer.kind === 'task') {
    const told: SeenTask = { ...answer.task, status: 'working' };
    setImmediate(() => live.notice(told));
  }
  return result;
}

/** What is known of who calls, beside the principal of the session. */
function callerOf({ scopes, message, header }: Inbound) {
  return { ...(scopes && { scopes }), message, ...(header && { header }) };
}

/** Tells how a held call goes on, as long as there is a way; whoever reads slowly gets the latest. */
function teller(live: Live, channel: Channel, token: string | number): (task: SeenTask) => void {
  const progress = heldProgress(token, live.session.dialect.progress);
  return (task) => {
    progress.hear(task);
    const outlet = channel.outlet();
    const notification = outlet && progress.next();
    if (notification !== undefined) outlet!.send(notification, `progress of ${token}`);
  };
}

/** Asks questions that are of no task. Resolves with the answers, however long that takes. */
export function askAll(
  live: Live,
  channel: Channel,
  requests: Readonly<Record<string, InputRequest>>,
): Promise<Record<string, InputResponse>> {
  return whileWanted(live, channel.signal, (onEnd) => {
    const answers = Object.entries(requests).map(([key, request]) => {
      return new Promise<[string, InputResponse]>((resolve, reject) => {
        const takeBack = live.asking.ask({
          method: request.method,
          params: (id) => live.session.dialect.question(request, id),
          takenBack: (params) => params,
          outlet: channel.outlet,
          take: (response) =>
            live.settle(response, async (settled) => {
              if ('result' in settled) resolve([key, settled.result]);
              else if (request.method === 'elicitation/create') resolve([key, NOT_ASKED]);
              else
                reject(
                  new RpcError(
                    settled.error.code,
                    `the client could not answer ${request.method}: ${settled.error.message}`,
                  ),
                );
            }),
        });
        onEnd(takeBack);
      });
    });
    return Promise.all(answers).then((entries) => Object.fromEntries(entries));
  });
}

/**
 * Asks what the task of a held call asks, which its client cannot see, until it asks no more. Resolves with the task
 * as it is then. Where its work `mayGoOn` without the client, that is also when there is no way to ask, or the server
 * closes.
 */
async function untilAnswered(
  engine: Engine,
  live: Live,
  channel: Channel,
  task: SeenTask,
  mayGoOn: boolean,
): Promise<SeenTask> {
  const { principal } = live.session;
  if (mayGoOn && channel.outlet() === undefined) return task;
  let latest = task;
  try {
    await whileWanted(live, channel.signal, (onEnd) => {
      const questions = live.questions(channel.outlet, false);
      return new Promise<void>((resolve, reject) => {
        const saw = (seen: SeenTask): void => {
          latest = seen;
          questions.follow(seen);
          if (!isAsking(seen)) resolve();
        };
        onEnd(engine.watch(task.id, saw));
        onEnd(() => questions.close());
        engine.read(principal, task.id).then(saw, reject);
      });
    });
  } catch (error) {
    if (mayGoOn && live.closing.aborted && !channel.signal.aborted) return latest;
    // The client was given no way back: nobody will ever ask for this task.
    await engine.cancel(principal, task.id);
    throw error;
  }
  return latest;
}

/** Does something until it is done or its client no longer wants it; what `onEnd` was given is called in either case. */
async function whileWanted<T>(
  { closing }: Live,
  signal: AbortSignal,
  act: (onEnd: (end: () => void) => void) => Promise<T>,
): Promise<T> {
  const ends: (() => void)[] = [];
  const unwanted = new Promise<never>((_, reject) => {
    for (const over of [signal, closing]) ends.push(onAbort(over, () => reject(over.reason as Error)));
  });
  try {
    return await Promise.race([act((end) => void ends.push(end)), unwanted]);
  } finally {
    for (const end of ends) end();
  }
}
