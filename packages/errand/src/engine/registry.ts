import type { StandardSchemaV1 } from '@standard-schema/spec';
import { toMs } from '../duration.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { choose, knownOptions, show } from '../options.ts';
import { describeSchema } from '../schema.ts';
import type { Questions } from './context.ts';
import type { ListedTool, TaskUse } from './engine.ts';
import { HANDOFF_TOOLS } from './handoff/names.ts';
import { orHandle } from './handoff/listing.ts';
import { DEFAULT_HOLD, handsOff, holdOf, NOT_HELD, type Hold } from './hold.ts';
import { toRetry, type Retry } from './retry.ts';
import type { Handler, ToolOptions } from './tool.ts';

/** A tool as it was registered: checked, with its defaults filled in. Durations in ms. */
export interface RegisteredTool {
  readonly name: string;
  readonly listed: ListedTool;
  /** As clients list it that take no tasks: a result may be the handle of a task. */
  readonly listedWithoutTasks: ListedTool;
  readonly inputSchema: StandardSchemaV1 | undefined;
  readonly outputSchema: StandardSchemaV1 | undefined;
  readonly task: 'always' | 'auto' | 'never';
  readonly hold: Hold;
  readonly patienceMs: number;
  readonly deadlineMs: number;
  readonly retentionMs: number;
  readonly pollIntervalMs: number;
  readonly concurrency: number | undefined;
  readonly replay: boolean;
  readonly retry: Retry | undefined;
  readonly onEnd: ToolOptions['onEnd'];
  readonly version: string;
  readonly prepare: ((args: unknown, ask: Questions) => JsonValue | Promise<JsonValue>) | undefined;
  /** The present version of the tool and the earlier ones, by name. */
  readonly versions: ReadonlyMap<string, ToolVersion>;
}

/** Whether a call of a tool may make a task. */
export function taskUseOf({ task, hold }: RegisteredTool): TaskUse {
  if (task === 'never') return 'forbidden';
  return hold.withoutTasks === 'refuse' ? 'required' : 'optional';
}

/** What runs a task, by the version that the task began with. */
export interface ToolVersion {
  readonly handler: Handler<unknown>;
  /** Parses the arguments, which are kept as the client sent them. */
  readonly inputSchema: StandardSchemaV1 | undefined;
}

/** The tools of a server, by name, in the order in which they were registered. */
export type Registry = Map<string, RegisteredTool>;

const OPTIONS: readonly (keyof ToolOptions)[] = [
  ...(['title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'icons', '_meta'] as const),
  ...(['task', 'patience', 'deadline', 'retention', 'pollInterval', 'concurrency', 'withoutTasks', 'holdFor'] as const),
  ...(['replay', 'retry', 'onEnd', 'version', 'previous', 'prepare'] as const),
];

const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** Checks the options of a tool and fills in what they leave open, `server` what is said for all. Throws a `TypeError` that names the tool. */
export function registered(
  name: string,
  options: ToolOptions<StandardSchemaV1 | undefined>,
  handler: Handler<never>,
  server: Hold = DEFAULT_HOLD,
): RegisteredTool {
  const what = `tool "${name}"`;
  if (!NAME.test(name)) throw new TypeError(`${what}: a name has 1 to 128 letters, digits, "_", "-" or "."`);
  if (typeof handler !== 'function') throw new TypeError(`${what}: the third argument is its handler`);
  knownOptions(what, options, OPTIONS);
  const { task = 'auto', annotations, version = '1', prepare, concurrency } = options;
  choose(what, 'task', task, ['always', 'auto', 'never']);
  if (task === 'never' && prepare)
    throw new TypeError(`${what}: prepare is for tools with tasks; a task: 'never' handler may ask by itself`);
  if (task === 'never' && (options.withoutTasks ?? options.holdFor) !== undefined)
    throw new TypeError(`${what}: task: 'never' contradicts withoutTasks and holdFor: it answers everybody alike`);
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency > 0)) {
    throw new TypeError(`${what}: concurrency is a whole number of 1 or more`);
  }
  if (task === 'never' && concurrency !== undefined)
    throw new TypeError(`${what}: concurrency limits runs of tasks; a task: 'never' tool has none`);
  const hold = task === 'never' ? NOT_HELD : holdOf(what, options, server);
  const own = listed(name, what, options);
  if (options.onEnd !== undefined && typeof options.onEnd !== 'function')
    throw new TypeError(`${what}: onEnd is ${show(options.onEnd)}; it is a function of how the task ended`);
  if (prepare !== undefined && typeof prepare !== 'function')
    throw new TypeError(`${what}: prepare is ${show(prepare)}; it is a function of the arguments`);
  if (task === 'never' && options.onEnd)
    throw new TypeError(`${what}: onEnd is for tools with tasks; a task: 'never' handler cleans up by itself`);
  const harmless = annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
  const replay = options.replay ?? (handler.length >= 2 || harmless);
  if (options.retry && (task === 'never' || !replay))
    throw new TypeError(`${what}: retry is for handlers that are replayed; let it take task, or say replay: true`);
  return {
    name,
    listed: own,
    listedWithoutTasks: handsOff(hold) ? orHandle(own) : own,
    inputSchema: options.inputSchema,
    outputSchema: options.outputSchema,
    task,
    hold,
    patienceMs: toMs(options.patience ?? '800ms', `${what}: patience`),
    deadlineMs: toMs(options.deadline ?? '24h', `${what}: deadline`),
    retentionMs: toMs(options.retention ?? '24h', `${what}: retention`),
    pollIntervalMs: toMs(options.pollInterval ?? '1s', `${what}: pollInterval`),
    concurrency,
    replay,
    retry: options.retry && toRetry(what, options.retry),
    onEnd: options.onEnd,
    version,
    prepare,
    versions: versionsOf(what, version, handler, options),
  };
}

/**
 * Adds a tool. Throws where its name is taken, also by the tools for calls that were handed off: those are there as
 * soon as one tool may hand off.
 */
export function addTool(tools: Registry, tool: RegisteredTool): void {
  const what = `tool "${tool.name}"`;
  if (tools.has(tool.name)) throw new Error(`${what} is there already`);
  const handing = [tool, ...tools.values()].find(({ hold }) => handsOff(hold));
  const taken = [tool.name, ...tools.keys()].find((name) => HANDOFF_TOOLS.has(name));
  if (handing !== undefined && taken !== undefined) {
    throw new Error(
      `${what}: calls of tool "${handing.name}" may be handed off, and clients follow those by a tool "${taken}" of ours; choose another name for yours, or hand off no calls (holdFor: Infinity, or withoutTasks: 'refuse')`,
    );
  }
  tools.set(tool.name, tool);
}

function versionsOf(
  what: string,
  version: string,
  handler: Handler<never>,
  { inputSchema, previous = [] }: ToolOptions<StandardSchemaV1 | undefined>,
): ReadonlyMap<string, ToolVersion> {
  const versions = new Map<string, ToolVersion>([[version, { handler: handler as Handler<unknown>, inputSchema }]]);
  for (const earlier of previous) {
    if (versions.has(earlier.version)) throw new TypeError(`${what}: version "${earlier.version}" is there twice`);
    versions.set(earlier.version, { handler: earlier.handler as Handler<unknown>, inputSchema: earlier.inputSchema });
  }
  return versions;
}

function listed(name: string, what: string, options: ToolOptions<StandardSchemaV1 | undefined>): ListedTool {
  const { title, description, inputSchema, outputSchema, annotations, icons, _meta } = options;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema: inputSchema ? objectSchema(inputSchema, 'input', `${what}: inputSchema`) : { type: 'object' },
    ...(outputSchema === undefined
      ? {}
      : { outputSchema: objectSchema(outputSchema, 'output', `${what}: outputSchema`) }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(icons === undefined ? {} : { icons }),
    ...(_meta === undefined ? {} : { _meta }),
  };
}

/** Arguments and structured content are always objects, so their schemas must describe one. */
function objectSchema(schema: StandardSchemaV1, side: 'input' | 'output', what: string): JsonObject {
  const described = describeSchema(schema, side, what);
  if (described['type'] !== 'object')
    throw new TypeError(
      `${what}: ${side === 'input' ? 'arguments are' : 'structured content is'} an object, but this describes ${JSON.stringify(described['type'] ?? 'something else')}`,
    );
  return described;
}
