import type { JsonObject } from '../../json.ts';
import { isTerminal } from '../../task/task.ts';
import { isAsking, openQuestions } from '../below.ts';
import type { SeenTask } from '../engine.ts';
import { ANSWER_TOOL, STATUS_TOOL } from './names.ts';
import { plainQuestion } from './questions.ts';

/** What a client keeps of a call that was handed off, to come back to it. */
export function handleOf(task: SeenTask): JsonObject {
  const { id, statusMessage, progress, outcome } = task;
  const asks = isAsking(task);
  return {
    taskId: id,
    status: asks ? 'input_required' : task.status,
    ...(statusMessage !== undefined && { statusMessage }),
    ...(progress && { progress: progress.done }),
    ...(progress?.total !== undefined && { progressTotal: progress.total }),
    ...(outcome?.kind === 'error' && { error: { ...outcome.error } }),
    ...(asks && { questions: questionsOf(task) }),
    ...(!isTerminal(task) && { next: { tool: asks ? ANSWER_TOOL : STATUS_TOOL, arguments: { taskId: id } } }),
    pollIntervalMs: task.pollIntervalMs,
    expiresAt: new Date(task.expiresAt).toISOString(),
  };
}

function questionsOf(task: SeenTask): JsonObject {
  const questions = Object.entries(openQuestions(task));
  return Object.fromEntries(
    questions.map(([key, request]) => {
      const { message, answer } = plainQuestion(request);
      return [key, { message, answer }];
    }),
  );
}

/** The schema of a handle, for clients that hold a result against the schema that the tool was listed with. */
export const HANDLE_SCHEMA: JsonObject = {
  type: 'object',
  description: `The call goes on as a task; ${STATUS_TOOL} tells of it.`,
  properties: {
    taskId: { type: 'string' },
    status: { enum: ['working', 'input_required', 'completed', 'failed', 'cancelled'] },
    statusMessage: { type: 'string' },
    progress: { type: 'number' },
    progressTotal: { type: 'number' },
    questions: { type: 'object', description: `What is to be answered by ${ANSWER_TOOL}, by key` },
    next: {
      type: 'object',
      description: 'The tool to call next',
      properties: { tool: { type: 'string' }, arguments: { type: 'object' } },
      required: ['tool', 'arguments'],
    },
    pollIntervalMs: { type: 'integer', description: 'How often the task may be looked at' },
    expiresAt: { type: 'string', description: 'When the task and its result may vanish' },
  },
  required: ['taskId', 'status'],
};
