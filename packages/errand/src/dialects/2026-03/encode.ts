import type { SessionDialect, SessionServed, Terms } from '../../dialect.ts';
import { isAsking, openQuestions } from '../../engine/below.ts';
import type { SeenTask } from '../../engine/engine.ts';
import { ErrandError, ERRORS } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import type { InputRequest } from '../../task/input.ts';
import { isTerminal } from '../../task/task.ts';
import type { Task, ToolResult } from '../../task/task.ts';
import { initialized, nextCursorOf, plainTask as olderTask, textOf, withoutStamps } from '../2025-11-25/encode.ts';
import { RELATED_TASK } from '../2025-11-25/envelope.ts';
import { theirTools } from '../tool-lists.ts';
import { OPT_IN, spoken, TOOL_RESULT, understands } from './envelope.ts';

/** The part of a session's dialect that makes results. */
export type Encode = Pick<
  SessionDialect,
  'initialized' | 'listed' | 'called' | 'read' | 'continued' | 'answered' | 'cancelled' | 'tasks' | 'passed'
>;

/** What the engine answers, as results of the drafts. */
export function createEncode(served: SessionServed, terms: Terms): Encode {
  const { lists } = served;
  const asksByResult = understands(terms, 'mrtr');
  return {
    // Whoever serves tasks says so, and nothing of which requests may become one (U-1 to U-3, N-7).
    initialized: (backend) =>
      initialized(served, terms.version, backend, {
        tasks: { ...(lists && { list: {} }), cancel: {} },
        experimental: { [OPT_IN]: spoken(terms) },
      }),
    // No tool says whether it makes tasks (U-5).
    listed: (tools, backend = {}) => ({
      tools: [...(tools as unknown as JsonObject[]), ...theirTools(served, backend)],
      ...nextCursorOf(backend),
    }),
    called(answer) {
      switch (answer.kind) {
        case 'result':
          return toolResult(answer.result);
        case 'task':
          // The key `task` is what tells it from any other result (U-12).
          return { task: { ...plainTask(answer.task, terms), status: 'working' } };
        case 'input':
          checkEphemeral(answer.requests);
          return { ...incomplete(answer.requests), requestState: answer.requestState };
      }
    },
    // Passive: it never shows what is asked (K-12, R-6).
    read: (task) => detailedTask(task, terms),
    continued: (task) =>
      asksByResult && !isTerminal(task) && isAsking(task)
        ? // Nothing of the task is in it, but whose questions they are (K-9, R-3).
          { ...incomplete(openQuestions(task)), _meta: related(task, terms) }
        : detailedTask(task, terms),
    answered: (task) => ({ _meta: related(task, terms) }),
    cancelled: (task) => plainTask(task, terms),
    tasks: (tasks, nextCursor) => ({
      tasks: tasks.map((task) => plainTask(task, terms)),
      ...(nextCursor !== undefined && { nextCursor }),
    }),
    passed: withoutStamps,
  };
}

/** A task without what it came to (K-1, P-1, P-2, S-1, S-2). */
export function plainTask(task: SeenTask, terms: Terms): JsonObject {
  const { progress, parent, children } = task;
  return {
    ...olderTask(task),
    ...(progress !== undefined &&
      understands(terms, 'progress') && {
        progress: progress.done,
        ...(progress.total !== undefined && { progressTotal: progress.total }),
      }),
    ...(parent !== undefined && understands(terms, 'subtasks') && { parentTaskId: parent.id, ...edgesOf(parent) }),
    ...(children !== undefined && understands(terms, 'subtasks') && { childTaskIds: [...children] }),
  };
}

/** What a graph has that a tree has not has no name in the drafts. */
function edgesOf({ after }: NonNullable<Task['parent']>): JsonObject {
  return after === undefined ? {} : { _meta: { 'dev.errand/tasks': { after: [...after] } } };
}

/** A task with what it came to, wherever it is shown by itself (K-2, K-3). */
export function detailedTask(task: SeenTask, terms: Terms): JsonObject {
  const plain = plainTask(task, terms);
  const { outcome } = task;
  if (outcome?.kind === 'error') return { ...plain, error: { ...outcome.error } };
  if (outcome?.kind !== 'result') return plain;
  const result = toolResult(outcome.result);
  // The error has no place of its own for what the tool said (K-5, T-4, R-5).
  return outcome.result.isError
    ? {
        ...plain,
        error: { code: ERRORS.toolFailed.code, message: textOf(outcome.result), data: { [TOOL_RESULT]: result } },
      }
    : { ...plain, result };
}

/** What says to which task a message belongs, and below which that is (S-8). */
export function related({ id, parent }: Task, terms: Terms): JsonObject {
  const above = parent && understands(terms, 'subtasks') && { parentTaskId: parent.id };
  return { [RELATED_TASK]: { taskId: id, ...above } };
}

/** A tool result says in any case whether it is an error, as the drafts write it. */
function toolResult(result: ToolResult): JsonObject {
  return { ...(result as unknown as JsonObject), isError: result.isError ?? false };
}

/** A result that is none yet: the client must answer first (M-1, M-2, R-2). */
function incomplete(requests: Readonly<Record<string, InputRequest>>): JsonObject {
  return { result_type: 'incomplete', inputRequests: requests as unknown as JsonObject };
}

/** Before there is a task nobody is sent to a page: there would be nothing to come back to (M-9, R-10). */
function checkEphemeral(requests: Readonly<Record<string, InputRequest>>): void {
  if (Object.values(requests).every(({ params }) => params.mode !== 'url')) return;
  throw new ErrandError(
    'invalidRequest',
    'the tool asks its user to visit a page before there is a task, which this revision does not allow',
  );
}
