import type { ToolVersion } from '../../engine/registry.ts';
import { check } from '../../schema.ts';
import type { Task } from '../../task/task.ts';

/** A copy of the arguments as the handler takes them. */
export async function argumentsFor({ inputSchema }: ToolVersion, task: Task): ReturnType<typeof check> {
  const args = structuredClone(task.arguments);
  return inputSchema === undefined ? { value: args } : check(inputSchema, args);
}
