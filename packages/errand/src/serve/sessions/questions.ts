import type { SessionDialect } from '../../dialect.ts';
import { openQuestions } from '../../engine/below.ts';
import { mayAsk } from '../../engine/capabilities.ts';
import type { Engine, SeenTask } from '../../engine/engine.ts';
import { ErrandError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import type { JsonRpcResponse } from '../../jsonrpc.ts';
import type { InputRequest } from '../../task/input.ts';
import type { Principal } from '../../task/principal.ts';
import { isTerminal } from '../../task/task.ts';
import type { Asking, TaskQuestion } from './asking.ts';
import type { Settle } from './hosting.ts';
import type { Outlet } from './streams.ts';

export interface TaskQuestionsParts {
  readonly engine: Pick<Engine, 'answer' | 'decline' | 'read'>;
  readonly principal: Principal;
  readonly dialect: SessionDialect;
  readonly asking: Asking;
  /** Where the questions of the task could go now. */
  readonly outlet: () => Outlet | undefined;
  /** Whether the client can see the task, and is told that they are its. */
  readonly visible: boolean;
  /** Has the client say by and by what it answers by a task of its own. */
  readonly settle: Settle;
}

/** The open questions of a task, as far as its client can be asked them, put to it by requests of ours. */
export class TaskQuestions {
  readonly #parts: TaskQuestionsParts;
  readonly #asked = new Map<string, () => void>();

  constructor(parts: TaskQuestionsParts) {
    this.#parts = parts;
  }

  /** Asks what the task asks now, and takes back what it asks no longer. */
  follow(task: SeenTask): void {
    const open = isTerminal(task) ? {} : openQuestions(task);
    for (const [key, takeBack] of this.#asked) {
      if (Object.hasOwn(open, key)) continue;
      this.#asked.delete(key);
      takeBack();
    }
    for (const [key, request] of Object.entries(open)) {
      // Whoever made the task may have been able to answer more (N-10).
      if (!this.#asked.has(key) && mayAsk(this.#parts.dialect.terms.capabilities, request))
        this.#ask(task, key, request);
    }
  }

  /** Takes back all of them: nobody waits for the answers here any more. */
  close(): void {
    for (const takeBack of this.#asked.values()) takeBack();
    this.#asked.clear();
  }

  #ask(task: SeenTask, key: string, request: InputRequest): void {
    const { asking, dialect, outlet, visible, engine, principal, settle } = this.#parts;
    const related = visible ? task : undefined;
    const question: TaskQuestion = { taskId: task.id, key };
    const takeBack = asking.ask({
      method: request.method,
      params: (id) => dialect.question(request, id, related),
      takenBack: (params) => dialect.mark(params, related),
      question,
      outlet,
      take: (response) => settle(response, (settled) => answerQuestion(engine, principal, question, settled)),
    });
    this.#asked.set(key, takeBack);
  }
}

/** Answers a question of a task with the response of a client. Rejects where that is no answer to it. */
export async function answerQuestion(
  engine: Pick<Engine, 'answer' | 'decline' | 'read'>,
  principal: Principal,
  { taskId, key }: TaskQuestion,
  response: JsonRpcResponse,
): Promise<void> {
  try {
    if ('result' in response) await engine.answer(principal, taskId, { [key]: response.result });
    else await cannotAnswer(engine, principal, { taskId, key });
  } catch (error) {
    // A task that is not there any more has no use for an answer.
    if (!(error instanceof ErrandError && error.kind === 'taskNotFound')) throw error;
  }
}

/** What a client answers that was not able to ask its user. */
export const NOT_ASKED: JsonObject = { action: 'cancel' };

async function cannotAnswer(
  engine: Pick<Engine, 'answer' | 'decline' | 'read'>,
  principal: Principal,
  { taskId, key }: TaskQuestion,
): Promise<void> {
  const request = openQuestions(await engine.read(principal, taskId))[key];
  if (request?.method === 'elicitation/create') await engine.answer(principal, taskId, { [key]: NOT_ASKED });
  else await engine.decline(principal, taskId, key);
}
