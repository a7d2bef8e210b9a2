import {
  Client,
  type CallToolResult,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/client';
import {
  createApplicationInputHandler,
  createTaskSessionFromClient,
  resultFromTaskOutcome,
  type ApplicationElicitResult,
  type JsonRpcResponse,
  type RawClientDispatch,
  type TaskEnabledSession,
  type ToolExecution,
} from '@modelcontextprotocol/ext-tasks/client';

const PROTOCOL = '2026-07-28';
const INFO = { name: 'errand-examples', version: '0.1.0' };
const CAPABILITIES = { elicitation: { form: {} } };

/** A question to the person behind the client: the params of an `elicitation/create` request. */
export type Question = Readonly<Record<string, unknown>>;
/** Answers a question; `key` is what the task calls it. */
export type Answer = (question: Question, key: string) => ApplicationElicitResult | Promise<ApplicationElicitResult>;

export interface Connection {
  /** The official SDK client: tools, prompts, resources. */
  readonly client: Client;
  /** Calls tools; an answer that is a task is waited for, and its questions go to `answer`. */
  readonly tasks: TaskEnabledSession;
  close(): Promise<void>;
}

const nobody = (): never => {
  throw new Error('This client cannot answer that.');
};

/** Connects the official client, and the official tasks client over the same transport. */
export async function connect(
  transport: Transport,
  answer: Answer = nobody,
  endpointId = 'example',
): Promise<Connection> {
  const client = new Client(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: PROTOCOL } } });
  await client.connect(transport);
  const tasks = createTaskSessionFromClient(client, {
    endpointId,
    rawDispatch: dispatchOver(transport),
    v2RequestFraming: { protocolVersion: PROTOCOL, clientInfo: INFO, clientCapabilities: CAPABILITIES },
    onInputRequest: createApplicationInputHandler({
      elicitation: ({ params }, { inputId = '' }) => answer(params, inputId),
      sampling: nobody,
      roots: nobody,
    }),
  });
  const close = async () => {
    await tasks.close();
    await client.close();
  };
  return { client, tasks, close };
}

/** What a call came to, when it has ended. Throws where it failed or was cancelled. */
export async function resultOf(execution: ToolExecution<unknown>): Promise<CallToolResult> {
  const { outcome } = await execution.settle();
  return resultFromTaskOutcome(outcome) as CallToolResult;
}

/** What a result says. */
export function textOf({ content }: Pick<CallToolResult, 'content'>): string {
  return content.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('\n');
}

/** The SDK client refuses task results, so the tasks client sends its own frames beside it, under ids of their own. */
function dispatchOver(transport: Transport): RawClientDispatch {
  const waiting = new Map<RequestId, (response: JsonRpcResponse) => void>();
  const toClient = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const settle = 'id' in message && message.id !== undefined ? waiting.get(message.id) : undefined;
    if (settle && 'result' in message) settle({ kind: 'result', result: message.result as never });
    else if (settle && 'error' in message) settle({ kind: 'error', error: message.error as never });
    else toClient?.(message, extra);
  };
  let count = 0;
  return async (request, options) => {
    const id = `task-${++count}`;
    try {
      return await new Promise<JsonRpcResponse>((resolve, reject) => {
        waiting.set(id, resolve);
        options?.signal?.addEventListener('abort', () => reject(options.signal?.reason as Error), { once: true });
        const message = { ...(request as object), jsonrpc: '2.0', id } as JSONRPCMessage;
        transport.send(message, { ...(options?.signal && { requestSignal: options.signal }) }).catch(reject);
      });
    } finally {
      waiting.delete(id);
    }
  };
}
