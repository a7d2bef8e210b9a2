import { issuesText, type Issue } from '../schema.ts';
import type { ToolResult } from '../task/task.ts';

/** Arguments that do not fit are told to the model, which can mend them (SEP-1303); nothing was begun. */
export function refusedArguments(tool: string, issues: readonly Issue[]): ToolResult {
  return {
    content: [{ type: 'text', text: `Invalid arguments for tool "${tool}": ${issuesText(issues)}` }],
    isError: true,
  };
}
