import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Store } from '../store.ts';

/** Where probes ask; `false` where nobody answers them. */
export interface HealthOptions {
  /** Whether the process lives. Default `/healthz`. */
  readonly live?: string | false;
  /** Whether requests should be sent here. Default `/readyz`. */
  readonly ready?: string | false;
}

/** Whether requests should be sent to a server, or why not. */
export type Readiness = 'ready' | 'starting' | 'draining' | 'store away';

/** Answers probes, if a request is one. */
export type Health = (request: IncomingMessage, response: ServerResponse) => boolean;

const OFF: HealthOptions = { live: false, ready: false };

/** A probe waits no longer for the store, in ms: they give up after a second mostly. */
const PATIENCE = 800;

/**
 * Answers `GET` and `HEAD` of probes. They need neither a token nor a Host that is known, as load balancers ask by
 * address; so they hear a word that anybody may know. `endpoint` is the path that is taken.
 */
export function createHealth(
  options: HealthOptions | false | undefined,
  endpoint: string,
  readiness: () => Promise<Readiness>,
): Health {
  const { live = '/healthz', ready = '/readyz' }: HealthOptions = options === false ? OFF : (options ?? {});
  for (const path of [live, ready]) {
    if (path === false) continue;
    if (!path.startsWith('/')) throw new TypeError(`health: a path begins with "/"; ${JSON.stringify(path)} does not`);
    if (path === endpoint) throw new TypeError(`health: ${path} is the path of the MCP endpoint`);
  }
  if (live !== false && live === ready) throw new TypeError(`health: ${live} cannot answer both questions`);

  return (request, response) => {
    const path = pathOf(request.url);
    if (path === live) answer(request, response, 200, 'ok');
    else if (path === ready) {
      void readiness().then((state) => answer(request, response, state === 'ready' ? 200 : 503, state));
    } else return false;
    return true;
  };
}

/** Says whether requests should be sent to a server that is in some state, by whether its store answers. */
export function createReadiness(
  state: () => 'running' | 'starting' | 'draining',
  store: Store,
): () => Promise<Readiness> {
  let asked: Promise<Readiness> | undefined;

  /** Reads what is never there, which is as cheap as reads are, and fails as they fail. */
  async function askStore(): Promise<Readiness> {
    let stopWaiting!: () => void;
    const late = new Promise<'store away'>((resolve) => {
      const timer = setTimeout(resolve, PATIENCE, 'store away').unref();
      stopWaiting = () => clearTimeout(timer);
    });
    const read = store.read('').then(
      () => 'ready' as const,
      () => 'store away' as const,
    );
    return Promise.race([read, late]).finally(stopWaiting);
  }

  return async () => {
    const now = state();
    if (now !== 'running') return now;
    // Probes that come meanwhile share the answer.
    return (asked ??= askStore().finally(() => (asked = undefined)));
  };
}

function answer(request: IncomingMessage, response: ServerResponse, status: number, word: string): void {
  const asks = request.method === 'GET' || request.method === 'HEAD';
  const body = JSON.stringify({ status: asks ? word : 'ask by GET or HEAD' });
  if (!asks) response.setHeader('allow', 'GET, HEAD');
  // A body that nobody reads must not be taken for the next request; and who is sent elsewhere should not wait here.
  if (!request.complete || word === 'draining') response.setHeader('connection', 'close');
  response
    .writeHead(asks ? status : 405, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
    })
    .end(body);
}

function pathOf(url = ''): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
