import type { ToolVersion } from '../../engine/registry.ts';
import { check } from '../../schema.ts';
import type { Task } from '../../task/task.ts';

type Checked = Awaited<ReturnType<typeof check>>;

/** A copy of the arguments as the handler takes them; at once where nothing checks them. */
export function argumentsFor({ inputSchema }: ToolVersion, task: Task): Checked | Promise<Checked> {
  const args = structuredClone(task.arguments);
  return inputSchema === undefined ? { value: args } : check(inputSchema, args);
}
