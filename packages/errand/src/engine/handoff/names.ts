/** Where a model asks for news of a call that was handed off, and for its result. */
export const STATUS_TOOL = 'task_status';
/** Where it answers what the call asks. */
export const ANSWER_TOOL = 'task_answer';
/** Where it takes the call back. */
export const CANCEL_TOOL = 'task_cancel';

/** The tools for calls that were handed off. */
export const HANDOFF_TOOLS: ReadonlySet<string> = new Set([STATUS_TOOL, ANSWER_TOOL, CANCEL_TOOL]);
