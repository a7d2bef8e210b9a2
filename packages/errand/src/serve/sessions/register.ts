import type { Terms } from '../../dialect.ts';
import type { Engine } from '../../engine/engine.ts';
import { ErrandError, RpcError, shuttingDown } from '../../errors.ts';
import { principalKey, type Principal } from '../../task/principal.ts';
import type { Backend } from '../backend.ts';
import type { Pipe } from '../exchange.ts';
import { Live, type Session } from './live.ts';
import type { Opened, Tokens } from './token.ts';

export interface RegisterParts {
  readonly engine: Engine;
  readonly backend: Backend | undefined;
  readonly tokens: () => Promise<Tokens>;
  readonly maxStreams: number;
}

/** What no stream needs that cannot be gone on with. */
const NO_TOKENS = { stream: () => '' };

/** So many sessions are known by their ids without a look into them. */
const REMEMBERED = 1000;

/** How often it is looked for what nobody came back to, in ms. */
const SWEEP_MS = 30_000;

/** So often at most it is looked for tasks that other processes made in sessions that listen here, in ms. */
const LOOK_MS = 1000;

/** So many ended sessions are remembered. */
const ENDED = 100_000;

type Speak = (key: string, terms: Terms) => Session;

/** The sessions of which this server keeps something. */
export interface Register {
  mint(principal: Principal, terms: Terms): Promise<{ readonly id: string; readonly key: string }>;
  /** The session of an id. Rejects with `sessionNotFound`. */
  find(id: string, principal: Principal, speak: Speak): Promise<Live>;
  /** What a request without a session lives in. */
  alone(session: Session): Live;
  /** Opens the session of a pipe, which ends with it, or with the next one on it. */
  piped(session: Session, pipe: Pipe): Live;
  onPipe(pipe: Pipe): Live | undefined;
  /** Forgets what is kept of a session, if that is nothing. */
  release(live: Live): void;
  /** Ends a session for good, as long as this process lives. */
  end(live: Live): void;
  /** Throws where there are as many streams as there may be. */
  checkRoom(): void;
  drain(): void;
}

export function createRegister({ engine, backend, tokens, maxStreams }: RegisterParts): Register {
  /** By id and principal: what an id says never changes. */
  const known = new Map<string, { readonly session: Session; readonly opened: Opened }>();
  const lives = new Map<string, Live>();
  const piped = new Map<Pipe, Live>();
  /** Sessions that their clients have ended, and when; their ids would be good for a while. */
  const ended = new Map<string, number>();
  let sweeping: NodeJS.Timeout | undefined;
  let looking: NodeJS.Timeout | undefined;
  let stopHearing: (() => void) | undefined;

  function sweep(): void {
    const now = performance.now();
    for (const [key, live] of lives) {
      live.sweep(now);
      if (!live.isIdle(now)) continue;
      live.end(shuttingDown());
      lives.delete(key);
    }
    if (lives.size === 0) rest();
  }

  function wake(): void {
    sweeping ??= setInterval(sweep, SWEEP_MS).unref();
    // A client may send its call to one process, and listen to another.
    stopHearing ??= engine.onForeignTasks(() => (looking ??= setTimeout(look, LOOK_MS).unref()));
  }

  function rest(): void {
    clearInterval(sweeping);
    clearTimeout(looking);
    stopHearing?.();
    sweeping = looking = stopHearing = undefined;
  }

  function look(): void {
    const listening = [...lives.values()].filter(({ isListening }) => isListening);
    void Promise.allSettled(listening.map((live) => live.recall(true))).then(() => (looking = undefined));
  }

  return {
    async mint(principal, terms) {
      const { id, opened } = (await tokens()).mint(principal, terms);
      return { id, key: opened.key };
    },

    async find(id, principal, speak) {
      const all = await tokens();
      const place = `${principalKey(principal)} ${id}`;
      let found = known.get(place);
      if (found === undefined) {
        const opened = all.open(principal, id);
        if (opened === undefined) throw sessionNotFound();
        found = { session: speak(opened.key, opened.terms), opened };
        known.set(place, found);
        if (known.size > REMEMBERED) known.delete(known.keys().next().value!);
      }
      const { session, opened } = found;
      if (ended.has(opened.key) || all.isOver(opened)) throw sessionNotFound();
      const { key } = opened;
      let live = lives.get(key);
      if (live === undefined) {
        live = new Live(session, { engine, backend, tokens: all });
        lives.set(key, live);
        wake();
      }
      return live;
    },

    alone: (session) => new Live(session, { engine, backend, tokens: NO_TOKENS }),

    piped(session, pipe) {
      const before = piped.get(pipe);
      before?.end(sessionNotFound());
      const live = new Live(session, { engine, backend, tokens: NO_TOKENS, pipe });
      piped.set(pipe, live);
      if (before) return live;
      pipe.closed.addEventListener('abort', () => {
        piped.get(pipe)!.end(shuttingDown());
        piped.delete(pipe);
      });
      return live;
    },

    onPipe: (pipe) => piped.get(pipe),

    release(live) {
      const { key } = live.session;
      if (key !== undefined && live.isEmpty) lives.delete(key);
    },

    end(live) {
      const { key } = live.session;
      if (key === undefined) return;
      lives.delete(key);
      live.end(sessionNotFound());
      void tokens().then((all) => {
        for (const [other, issuedAt] of ended) if (all.isOver({ issuedAt })) ended.delete(other);
        ended.set(key, all.now());
        if (ended.size > ENDED) ended.delete(ended.keys().next().value!);
      });
    },

    checkRoom() {
      const open = [...lives.values(), ...piped.values()].reduce((sum, live) => sum + live.load, 0);
      if (open >= maxStreams) throw new RpcError(-32603, 'Too many open streams; try again later', undefined, 503);
    },

    drain() {
      rest();
      for (const live of [...lives.values(), ...piped.values()]) live.drain(shuttingDown());
    },
  };
}

function sessionNotFound(): ErrandError {
  return new ErrandError(
    'sessionNotFound',
    'Session not found: open a new one by initialize; its tasks are where they were',
  );
}
