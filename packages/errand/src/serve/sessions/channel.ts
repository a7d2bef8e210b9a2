import { ErrandError } from '../../errors.ts';
import type { JsonRpcMessage, JsonRpcRequest } from '../../jsonrpc.ts';
import type { Inbound, Reply, StreamEvent } from '../exchange.ts';
import { acceptsStream, PLAIN_FOR, type Answer } from '../held.ts';
import { RESUMABLE_MS, type Live } from './live.ts';
import { bestOf, type Outlet } from './streams.ts';
import type { StreamPurpose } from './token.ts';

/** One request under way: how it can be taken back, and what can be sent before its response. */
export interface Channel {
  /**
   * Aborted when the client takes the request back, or cannot come back for its response. That it is cut off says
   * nothing (T-8).
   */
  readonly signal: AbortSignal;
  /** Where what belongs to the request could go now. */
  outlet(): Outlet | undefined;
}

/**
 * Answers a request of a session. Over HTTP the answer is plain JSON where it is quick and comes alone, else a stream
 * that the client can come back to, if it reads streams. `work` never rejects.
 */
export async function answerOver(
  live: Live,
  request: JsonRpcRequest,
  inbound: Inbound,
  purpose: StreamPurpose,
  work: (channel: Channel) => Promise<Answer>,
): Promise<Reply> {
  const { header, signal } = inbound;
  const { signal: over, abort, done } = live.begin(request.id, purpose.kind === 'task');
  const isStreamed = header !== undefined && acceptsStream(header('accept'));
  // Whoever never comes back for the response lets go of the work.
  const stream = isStreamed ? live.open(purpose, () => abort()) : undefined;
  const stopLeaving = onceGone(signal, (reason) => {
    if (!live.isResumable || reason instanceof ErrandError) return abort(reason);
    // A stream that its client knows of is forgotten in its own time.
    if (!stream?.isTold) return abortLater(abort);
    return undefined;
  });
  const channel: Channel = {
    signal: over,
    outlet: () => bestOf([live.outlet(), stream]),
  };
  const answer = work(channel).finally(() => {
    stopLeaving();
    done();
  });
  if (stream === undefined) return answer;
  void answer.then((came) => stream.end(came.kind === 'response' ? came.body : undefined));
  let timer: NodeJS.Timeout;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, PLAIN_FOR)));
  const first = await Promise.race([answer, stream.news(), late]).finally(() => clearTimeout(timer));
  if (first && stream.count < 2) {
    live.discard(stream);
    return first;
  }
  const events = stream.read(undefined, signal);
  return live.isResumable ? { kind: 'events', events } : { kind: 'stream', messages: messagesIn(events) };
}

/** Events of a stream that nobody can come back to. */
async function* messagesIn(events: AsyncIterable<StreamEvent>): AsyncGenerator<JsonRpcMessage> {
  for await (const { message } of events) if (message !== undefined) yield message;
}

/** Calls `leave` when the signal aborts, which gives how to take back what it does. Returns how to stop. */
function onceGone(signal: AbortSignal, leave: (reason: unknown) => (() => void) | void): () => void {
  let takeBack: (() => void) | void;
  const gone = (): void => {
    takeBack = leave(signal.reason);
  };
  if (signal.aborted) gone();
  else signal.addEventListener('abort', gone, { once: true });
  return () => {
    signal.removeEventListener('abort', gone);
    takeBack?.();
  };
}

function abortLater(abort: () => void): () => void {
  const timer = setTimeout(abort, RESUMABLE_MS).unref();
  return () => clearTimeout(timer);
}
