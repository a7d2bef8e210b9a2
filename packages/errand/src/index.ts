export { createErrand } from './errand.ts';
export type { Errand, ErrandOptions } from './errand.ts';
export type { Duration } from './duration.ts';
export type {
  ElicitAnswer,
  ElicitForm,
  ElicitUrl,
  InputOptions,
  Questions,
  RetryPolicy,
  Root,
  SampleAnswer,
  SampleRequest,
  StepContext,
  StepOptions,
  Subtask,
  SubtaskOptions,
  TaskContext,
} from './engine/context.ts';
export {
  AnswerRejected,
  InputTimeout,
  InputWithdrawn,
  StepError,
  StepUnknown,
  SubtaskError,
} from './engine/failures.ts';
export type { Operator, TaskPage } from './engine/commands/operator.ts';
export type { EventOptions } from './engine/events.ts';
export type { Handler, HandlerResult, PreviousVersion, ToolOptions } from './engine/tool.ts';
export { ErrandError, ERRORS, RpcError } from './errors.ts';
export type { ErrorName } from './errors.ts';
export type { Jsonified, JsonObject, JsonValue } from './json.ts';
export { DEFAULT_LIMITS } from './limits.ts';
export type { Limits } from './limits.ts';
export { jsonSchema } from './schema.ts';
export type { AttachOptions, SdkAuth, SdkServer } from './serve/sdk-server.ts';
export type { TokenVerifier, Verified } from './serve/auth.ts';
export type { AuthMode, AuthOptions, CustomTokens } from './serve/auth/bearer.ts';
export type { JwtOptions } from './serve/auth/jwt.ts';
export type { FetchFacts } from './serve/fetch.ts';
export type { HealthOptions } from './serve/health.ts';
export type { HttpOptions, HttpServing } from './serve/http.ts';
export type { HandlesSignals, SignalOptions } from './serve/signals.ts';
export type { StdioOptions, StdioServing } from './serve/stdio.ts';
export type { Change, Creation, Decide, Due, ListOptions, Store, StoreListener, StoreOptions } from './store.ts';
export { memory } from './stores/memory.ts';
export type { TaskEnd } from './task/clean-up.ts';
export type { LoggedEvent, StoredEvent, TaskEvent } from './task/event.ts';
export { ANONYMOUS, LOCAL } from './task/principal.ts';
export type { Principal } from './task/principal.ts';
export type { InputKind } from './task/input.ts';
export { logOptions } from './telemetry/log.ts';
export type { Progress, Task, TaskError, TaskOutcome, TaskStatus, ToolResult } from './task/task.ts';
