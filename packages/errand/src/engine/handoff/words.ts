import { isTerminal, type ToolResult } from '../../task/task.ts';
import { isAsking, openQuestions } from '../below.ts';
import type { SeenTask } from '../engine.ts';
import { handleOf } from './handle.ts';
import { ANSWER_TOOL, STATUS_TOOL } from './names.ts';
import { plainQuestion } from './questions.ts';

/** What a call is answered with whose work goes on as a task. */
export function handedOff(task: SeenTask): ToolResult {
  return told(task, `This call goes on in the background. ${wordsOf(task)}`);
}

/** How a task stands; once it has ended, its result as the call itself would have been answered. */
export function standing(task: SeenTask): ToolResult {
  return task.outcome?.kind === 'result' ? task.outcome.result : told(task, wordsOf(task));
}

/** How a call of `task_answer` is answered that gave no answer to anything the task asks. */
export function unanswered(task: SeenTask, why: string): ToolResult {
  return { ...told(task, `${why} ${wordsOf(task)}`), isError: true };
}

/** How a task stands, for the model to read, and as structured content, for programs. */
export function told(task: SeenTask, text: string): ToolResult {
  return {
    content: [{ type: 'text', text }],
    structuredContent: handleOf(task),
    ...(task.outcome?.kind === 'error' && { isError: true }),
  };
}

/** Where a task stands, and what to do next. Hosts show a model the text alone, so all that it needs is in it. */
function wordsOf(task: SeenTask): string {
  if (isTerminal(task)) return endedWords(task);
  return isAsking(task) ? askingWords(task) : `Task ${task.id} is working${progressWords(task)}. ${waitWords(task)}`;
}

/** How to come by the result. */
export function waitWords({ id }: SeenTask): string {
  return `For its result call ${STATUS_TOOL} with {"taskId":"${id}"}, which waits for a while; repeat until it has ended.`;
}

function progressWords({ progress, statusMessage }: SeenTask): string {
  const parts = [
    progress && (progress.total === undefined ? `${progress.done} done` : `${progress.done} of ${progress.total} done`),
    statusMessage,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
}

function askingWords(task: SeenTask): string {
  const questions = Object.entries(openQuestions(task));
  const call = `{"taskId":"${task.id}","answers":{${JSON.stringify(questions[0]![0])}:...}}`;
  const who = questions.some(([, { method }]) => method === 'elicitation/create')
    ? 'Ask the user, do not answer for them; then call'
    : 'Call';
  return [
    `Task ${task.id} waits for answers${progressWords(task)}:`,
    ...questions.map(([key, request]) => {
      const { message, how } = plainQuestion(request);
      return `- ${JSON.stringify(key)}: ${message}\n  Answer it ${how}.`;
    }),
    `${who} ${ANSWER_TOOL} with ${call}.`,
  ].join('\n');
}

function endedWords({ id, status, outcome }: SeenTask): string {
  if (outcome?.kind === 'error') return `Task ${id} failed: ${outcome.error.message}`;
  return status === 'cancelled' ? `Task ${id} was cancelled; there is no result.` : `Task ${id} has ended.`;
}
