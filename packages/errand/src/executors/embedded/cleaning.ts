import type { RegisteredTool } from '../../engine/registry.ts';
import { toRetry } from '../../engine/retry.ts';
import type { TaskEnd } from '../../task/clean-up.ts';
import type { RunParts } from './run.ts';

/** What fails for a passing reason is tried again: nobody else would notice that it failed. */
const RETRY = toRetry('onEnd', { attempts: 5, backoff: '1s', maxBackoff: '1m' });

/** The run that cleans up after a task of a tool. Where the tool no longer wants that, it ends at once. */
export function cleaning(tool: RegisteredTool): Pick<RunParts, 'tool' | 'handler'> {
  const { onEnd } = tool;
  return {
    tool: { ...tool, replay: true, outputSchema: undefined, retry: { ...(tool.retry ?? RETRY), when: undefined } },
    async handler(end, task) {
      await onEnd?.(end as TaskEnd, task);
      return 'cleaned up';
    },
  };
}
