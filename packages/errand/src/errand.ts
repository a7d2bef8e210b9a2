import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Logger } from 'pino';
import { delay, systemClock, type Clock } from './clock.ts';
import { toMs, type Duration } from './duration.ts';
import { createAdmission } from './engine/admission.ts';
import { createCalling } from './engine/calling.ts';
import { createTaskCommands } from './engine/commands.ts';
import { createControl } from './engine/commands/control.ts';
import { createOperator, type Operator } from './engine/commands/operator.ts';
import type { Engine } from './engine/engine.ts';
import { createHandoff } from './engine/handoff.ts';
import { DEFAULT_HOLD, holdOf, type WithoutTasks } from './engine/hold.ts';
import { createHolding } from './engine/holding.ts';
import { createPollPacer } from './engine/polls.ts';
import { addTool, registered, taskUseOf, type Registry } from './engine/registry.ts';
import { createRequestStates } from './engine/request-state.ts';
import { createSight } from './engine/sight.ts';
import type { Handler, ToolOptions } from './engine/tool.ts';
import { createWaits } from './engine/waits.ts';
import { createWatch } from './engine/watching.ts';
import { embedded } from './executors/embedded.ts';
import { shuttingDown } from './errors.ts';
import type { JsonObject } from './json.ts';
import { limitsOf, type Limits } from './limits.ts';
import { createSeal, type Seal } from './seal.ts';
import { attach } from './serve/attach.ts';
import { fetchFace, type FetchFacts } from './serve/fetch.ts';
import { createFront } from './serve/front.ts';
import { createReadiness } from './serve/health.ts';
import { createTokens, SESSION_MS, type Tokens } from './serve/sessions/token.ts';
import { serveHttp, type HttpOptions, type HttpServing } from './serve/http.ts';
import type { AttachOptions, SdkServer } from './serve/sdk-server.ts';
import { sdkBackend } from './serve/sdk.ts';
import { closeOnSignals, type HandlesSignals, type SignalOptions } from './serve/signals.ts';
import { serveStdio, type StdioOptions, type StdioServing } from './serve/stdio.ts';
import type { Store } from './store.ts';
import { memory } from './stores/memory.ts';
import { defaultLog } from './telemetry/log.ts';
import { openTelemetry } from './telemetry/opentelemetry.ts';

/** How long running steps are waited for when the server closes, in ms: less than calls are held, so that all are answered. */
const GRACE_MS = 8000;

/** Clients have what was sealed, and all the time to try secrets on it that are shorter. */
const SHORTEST_SECRET = 16;

export interface ErrandOptions extends WithoutTasks {
  /** Name and version of the server, as clients see them. */
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  /** How to use the server, for the model behind the client. */
  readonly instructions?: string;
  /** Where tasks live. Default `memory()`, which a restart forgets; see `errand/sqlite`. */
  readonly store?: Store;
  /** Makes the SDK server that answers everything that is not a tool of ours: resources, prompts, its own tools. */
  readonly server?: () => SdkServer;
  /** How many runs may be busy at once; the others queue, oldest first. Default 64. */
  readonly concurrency?: number;
  /** How much callers, tasks and the server may take. */
  readonly limits?: Partial<Limits>;
  /**
   * Seals what clients carry: sessions, and calls that are asked something first. 16 bytes or more that nobody can
   * guess; whoever knows it is every principal. Default: the store's own, which `memory()` makes anew each time.
   */
  readonly secret?: string | Uint8Array;
  /** For how long a client of a revision with sessions can use one; then it opens another. Default 24 h. */
  readonly sessionLifetime?: Duration;
  /** Default: a pino logger with `logOptions` on stderr, at level `warn`. */
  readonly log?: Logger;
  /**
   * Whether OpenTelemetry is told of calls, runs, steps and commits. Default: where an SDK is registered with
   * `@opentelemetry/api` when the server starts; without one nothing is told, and nothing of it costs.
   */
  readonly telemetry?: boolean;
}

/** A server whose tool calls become durable tasks. */
export interface Errand extends Operator {
  /** Registers a tool. Throws where the options contradict each other or the name is taken. */
  tool<S extends StandardSchemaV1>(
    name: string,
    options: ToolOptions<S> & { readonly inputSchema: S },
    handler: Handler<StandardSchemaV1.InferOutput<S>>,
  ): this;
  tool(name: string, options: ToolOptions, handler: Handler<JsonObject>): this;
  /** Serves Streamable HTTP. Resolves when it listens. */
  serve(options?: HttpOptions & HandlesSignals): Promise<HttpServing>;
  /** Serves stdin and stdout. Resolves when it reads. */
  stdio(options?: StdioOptions & HandlesSignals): Promise<StdioServing>;
  /** Answers one web-standard request, for hosts that keep their own HTTP server. */
  fetch(request: Request, facts?: FetchFacts): Promise<Response>;
  /** Puts tasks into an SDK server that its owner keeps hosting. Call it before the server connects. */
  attach(server: SdkServer, options?: AttachOptions): void;
  /** Opens the store and takes up what was left. `serve`, `stdio`, `fetch` and `attach` do it by themselves. */
  start(): Promise<void>;
  /** Takes no more calls, lets running steps end (8 s at most), and closes the store: within 10 s in all. */
  close(): Promise<void>;
}

/**
 * Makes a server whose tool calls become durable tasks.
 *
 * ```ts
 * const errand = createErrand({ name: 'media', version: '1.0.0', store: sqlite('media.db') });
 * errand.tool('transcode', { inputSchema: z.object({ url: z.url() }) }, async ({ url }, task) => {
 *   const file = await task.step('download', () => download(url));
 *   return `saved ${file}`;
 * });
 * await errand.serve({ port: 8080 });
 * ```
 */
export function createErrand(options: ErrandOptions): Errand {
  return assemble(options, systemClock).errand;
}

/** A server as tests have it, which can also stop dead. */
export interface Assembled {
  readonly errand: Errand;
  /** Ends it as `kill -9` would: nothing more is begun, written or answered. The store stays open. */
  halt(): void;
}

/** Makes a server that goes by a clock of its own; `errand/testing` turns it. */
export function assemble(options: ErrandOptions, clock: Clock): Assembled {
  const { name, version, title, instructions, concurrency = 64, server } = options;
  if (!name || !version) throw new TypeError('createErrand: name and version say to clients which server this is');
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new TypeError('createErrand: concurrency is a whole number of 1 or more');
  if (options.log !== undefined) checkLog(options.log);
  if (options.store !== undefined) checkStore(options.store);
  const secret = options.secret === undefined ? undefined : secretOf(options.secret);
  const log = options.log ?? defaultLog(name);
  const store = options.store ?? memory({ clock: clock.now });
  const tools: Registry = new Map();
  const hold = holdOf('createErrand', options, DEFAULT_HOLD);
  const limits = limitsOf(options.limits);
  const watch = createWatch(store, clock);
  const telemetry = openTelemetry(options.telemetry);
  const executor = embedded({ store, watch, tools, concurrency, clock, log, limits, telemetry });
  const commands = createTaskCommands(store, createSight(store, watch, clock), limits);
  const operator = createOperator({ store, watch, ready: start });
  const admission = createAdmission(store, executor, limits);
  const pace = createPollPacer(limits.pollsPerSecond, clock);
  let seal!: Seal;
  let tokens!: Tokens;
  const sessionMs = toMs(options.sessionLifetime ?? SESSION_MS, 'createErrand: sessionLifetime');
  if (sessionMs === 0) throw new TypeError('createErrand: sessionLifetime is 0, so that no session could be used');
  const states = createRequestStates(
    () => seal,
    () => store.now(),
  );
  const waits = createWaits(clock);
  const handoff = createHandoff({ commands, tools, waits, pace });
  const holding = createHolding({ executor, commands, states, waits });
  const call = telemetry.calls(
    createCalling({ store, executor, tools, states, commands, holding, handoff, waits, admission, limits, clock, log }),
  );
  const backend = server && sdkBackend(server);
  const info = { name, version, ...(title && { title }), ...(instructions && { instructions }) };
  const closers: (() => Promise<void> | void)[] = [];
  const readiness = createReadiness(() => (draining ? 'draining' : running ? 'running' : 'starting'), store);
  let draining = false;
  let leaveSignals: (() => void) | undefined;
  let starting: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  let running = false;

  const engine: Engine = {
    tools: (takesTasks) =>
      takesTasks
        ? [...tools.values()].map(({ listed }) => listed)
        : [...[...tools.values()].map(({ listedWithoutTasks }) => listedWithoutTasks), ...handoff.listed()],
    hasTool: (tool) => tools.has(tool) || handoff.has(tool),
    taskUse: (tool) => {
      const found = tools.get(tool);
      return found ? taskUseOf(found) : handoff.has(tool) ? 'forbidden' : undefined;
    },
    watch: commands.watch,
    call: (request, caller, onTask) => onceStarted(() => call(request, caller, onTask)),
    read: (principal, taskId, knowsSubtasks) =>
      onceStarted(() => {
        telemetry.polled();
        const turn = pace(principal);
        return turn === undefined
          ? commands.read(principal, taskId, knowsSubtasks)
          : turn.then(() => commands.read(principal, taskId, knowsSubtasks));
      }),
    answer: (principal, taskId, responses) => onceStarted(() => commands.answer(principal, taskId, responses)),
    decline: (principal, taskId, key) => onceStarted(() => commands.decline(principal, taskId, key)),
    onForeignTasks: (listener) => store.onForeignCommit(listener),
    bornIn: (principal, session) => onceStarted(() => commands.bornIn(principal, session)),
    cancel: (principal, taskId) => onceStarted(() => commands.cancel(principal, taskId)),
    control: createControl(store, operator, (...asked) => engine.read(...asked)),
  };
  const front = createFront({
    engine,
    info,
    log,
    maxSubscriptions: limits.subscriptions,
    tokens: () => onceStarted(async () => tokens),
    ...(backend && { backend }),
  });
  const answerFetch = fetchFace(front);

  /** A server that runs makes no request wait for its start, not even for a turn of the event loop. */
  function onceStarted<T>(act: () => Promise<T>): Promise<T> {
    return running ? act() : start().then(act);
  }

  async function start(): Promise<void> {
    if (closing) throw shuttingDown();
    // What kept it from starting may be over by the next request.
    await (starting ??= open().catch((error: unknown) => {
      starting = undefined;
      throw error;
    }));
  }

  async function open(): Promise<void> {
    await store.open();
    const key = secret ?? (await store.secret());
    seal = createSeal(key, 'requestState');
    tokens = createTokens(key, sessionMs, () => store.now());
    await backend?.start();
    telemetry.start(store, executor);
    await executor.start();
    running = true;
  }

  async function close(): Promise<void> {
    running = false;
    draining = true;
    leaveSignals?.();
    await starting?.catch(() => undefined);
    front.drain();
    // Calls that may be handed off are, so that their work goes on after the restart.
    waits.end();
    const answered = Promise.race([holding.answered(), delay(clock, GRACE_MS)]);
    await Promise.all([executor.close(GRACE_MS), answered, ...closers.map((stop) => stop())]);
    telemetry.stop();
    await store.close();
  }

  function halt(): void {
    closing ??= Promise.resolve();
    running = false;
    executor.halt();
    telemetry.stop();
    leaveSignals?.();
    for (const stop of closers) void stop();
  }

  /** Starts behind a way in that is open, and closes it again where that fails. */
  async function opened<T extends { close(): Promise<void> }>(
    serving: T,
    { handleSignals = false }: HandlesSignals = {},
  ): Promise<T> {
    try {
      closers.push(() => serving.close());
      await start();
      if (handleSignals !== false) takeSignals(handleSignals === true ? {} : handleSignals);
      return serving;
    } catch (error) {
      await serving.close();
      throw error;
    }
  }

  /** Several ways in make one server, which ends once. */
  function takeSignals(signalOptions: SignalOptions): void {
    const onNotice = (): void => void (draining = true);
    leaveSignals ??= closeOnSignals({ onNotice, close: errand.close, log }, signalOptions);
  }

  const errand: Errand = {
    ...operator,

    tool(toolName: string, toolOptions: ToolOptions<StandardSchemaV1 | undefined>, handler: Handler<never>) {
      if (starting)
        throw new Error(
          `tool "${toolName}": register tools before the server starts, so that their tasks are taken up`,
        );
      addTool(tools, registered(toolName, toolOptions, handler, hold));
      return this;
    },

    // The port comes first: a server that cannot have it must not have run anything. What is asked meanwhile waits.
    serve: async (httpOptions) => opened(await serveHttp(front, { log, ...httpOptions }, readiness), httpOptions),

    stdio: async (stdioOptions) => opened(await serveStdio(front, { log, ...stdioOptions }), stdioOptions),

    fetch(request, facts) {
      // Whoever asks for a task hears why the server does not start.
      start().catch(() => undefined);
      return answerFetch(request, facts);
    },

    attach(mcpServer, attachOptions) {
      attach(mcpServer, { engine, info, log }, attachOptions);
    },

    start,

    close: () => (closing ??= close()),
  };

  return { errand, halt };
}

function checkLog(log: Partial<Logger>): void {
  const missing = (['child', 'debug', 'info', 'warn', 'error'] as const).find(
    (name) => typeof log?.[name] !== 'function',
  );
  if (missing !== undefined)
    throw new TypeError(`createErrand: log has no ${missing}(); it must be a pino logger, or have the same methods`);
}

function secretOf(secret: string | Uint8Array): Uint8Array {
  const bytes = Buffer.from(secret);
  if (bytes.length < SHORTEST_SECRET)
    throw new TypeError(`createErrand: secret has ${bytes.length} bytes; ${SHORTEST_SECRET} or more keep it one`);
  return bytes;
}

function checkStore(store: unknown): void {
  if (typeof store === 'string')
    throw new TypeError(
      `createErrand: store is a text; for a file: import { sqlite } from 'errand/sqlite', and store: sqlite('${store}')`,
    );
  if (typeof (store as Partial<Store> | null)?.open !== 'function')
    throw new TypeError("createErrand: store must be one of memory() or of sqlite('…')");
}
