import type { OnTask } from '../engine/engine.ts';
import type { JsonRpcMessage } from '../jsonrpc.ts';
import type { Inbound, Reply } from './exchange.ts';
import type { HeldProgress } from './held/progress.ts';

/** How long a call has until its answer becomes a stream, in ms: what is quick stays plain JSON. */
export const PLAIN_FOR = 1000;

/** One answer: a response, or nothing where the request was taken back. */
export type Answer = Exclude<Reply, { kind: 'stream' }>;

/**
 * Answers a call that may be held for long. Where the client can read a stream it gets one, so that neither it nor a
 * proxy gives the connection up, with its progress, if it asked for that. `work` never rejects.
 */
export async function answerHeld(
  { header }: Inbound,
  progress: HeldProgress | undefined,
  work: (onTask?: OnTask) => Promise<Answer>,
): Promise<Reply> {
  const answer = work(progress?.hear);
  // A line of its own needs no stream to be sent on, and no second to be waited for.
  if (header === undefined)
    return progress === undefined ? answer : { kind: 'stream', messages: messages(answer, progress) };
  if (!acceptsStream(header('accept'))) return answer;
  let timer: NodeJS.Timeout;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, PLAIN_FOR)));
  const first = await Promise.race([answer, late]).finally(() => clearTimeout(timer));
  return first || { kind: 'stream', messages: messages(answer, progress) };
}

/** Whether an `Accept` header names event streams, as clients of Streamable HTTP must. */
export function acceptsStream(accept = ''): boolean {
  return accept
    .toLowerCase()
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()))
    .some(([type, ...params]) => type === 'text/event-stream' && !params.some((param) => /^q=0(\.0*)?$/.test(param)));
}

/** What is told of a call until its answer comes, then the answer; nothing comes after that. */
async function* messages(work: Promise<Answer>, progress: HeldProgress | undefined): AsyncGenerator<JsonRpcMessage> {
  let answer: Answer | undefined;
  let wake = (): void => undefined;
  void work.then((came) => {
    answer = came;
    wake();
  });
  progress?.onNews(() => wake());
  for (;;) {
    const notification = progress?.next();
    if (notification !== undefined) yield notification;
    else if (answer !== undefined) break;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
  if (answer.kind === 'response') yield answer.body;
}
