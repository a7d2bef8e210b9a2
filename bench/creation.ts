import { Connection } from './connection.ts';
import { progressOf } from './progress.ts';
import { modernRequest, resultOf } from './protocol.ts';
import type { Result } from './protocol.ts';

/** So many calls are under way at once, each on a connection of its own. */
const IN_FLIGHT = 48;

export interface Creation {
  readonly url: URL;
  readonly tool: string;
  readonly tasks: number;
  /** The arguments of a call by its number, from 0 on. */
  readonly argumentsOf: (index: number) => Result;
  /** Hears of each task; what it returns is waited for before the same connection makes the next. */
  readonly onTask?: (taskId: string, index: number, connection: Connection) => Promise<void> | void;
}

/** Has tasks made by `tools/call`, as fast as the server answers. */
export async function createTasks({ url, tool, tasks, argumentsOf, onTask }: Creation): Promise<void> {
  const progress = progressOf('making tasks', tasks);
  let next = 0;
  let made = 0;
  const drive = async (): Promise<void> => {
    const connection = new Connection(url);
    while (next < tasks) {
      const index = next++;
      const call = modernRequest(url, 'tools/call', { name: tool, arguments: argumentsOf(index) });
      const { taskId } = resultOf(await connection.exchange(call));
      await onTask?.(taskId as string, index, connection);
      progress.at(++made);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, tasks) }, drive));
  progress.end();
}

/** Reads a task over and over, without a pause, until it has come to a status. */
export async function until(status: string, taskId: string, url: URL, connection: Connection): Promise<Result> {
  const request = modernRequest(url, 'tasks/get', { taskId });
  for (;;) {
    const task = resultOf(await connection.exchange(request));
    if (task['status'] === status) return task;
    if (task['status'] === 'failed' || task['status'] === 'cancelled')
      throw new Error(`the task is not ${status}: ${JSON.stringify(task)}`);
  }
}

/** The text of the tool result that a completed task came to. */
export function resultText(task: Result): string {
  return (task['result'] as { content: { text: string }[] }).content[0]!.text;
}
