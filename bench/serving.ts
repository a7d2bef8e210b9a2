import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

/** What a measured server tells the process that measures it. */
type Told = { readonly url: string } | { readonly answer: unknown };

/** What a server can be asked beside its protocol, by the name of the question. */
export type Answers = Readonly<Record<string, () => unknown>>;

/** A server in a process of its own, so that its work is not ours. */
export interface Serving {
  readonly url: URL;
  /** CPU time that the process has used so far, all its threads together, in µs. */
  cpuMicros(): Promise<number>;
  /** Asks one of the questions that the server takes; one at a time. Rejects where the server ends meanwhile. */
  ask(question: string): Promise<unknown>;
  stop(): void;
  /** Ends it in the middle of whatever it does (SIGKILL). Resolves when it is gone. */
  kill(): Promise<void>;
}

export interface StartOptions {
  /** The only core that it may use; `undefined` leaves that to the system. */
  readonly core: number | undefined;
  readonly args?: readonly string[];
}

/** Starts a file of `servers/` in the way that this process was started itself. */
export async function start(server: string, { core, args = [] }: StartOptions): Promise<Serving> {
  const file = fileURLToPath(new URL(`./servers/${server}.ts`, import.meta.url));
  const command = [process.execPath, ...process.execArgv, file, ...args];
  // `taskset` becomes the server, so that the channel to it is the server's.
  const [program, ...rest] = core === undefined ? command : ['taskset', '-c', String(core), ...command];
  const child = spawn(program!, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const told = await hear(child, server);
  if (!('url' in told)) throw new Error(`${file} answered before it listened`);
  const ask = async (question: string): Promise<unknown> => {
    child.send(question);
    const answer = await hear(child, server);
    return 'answer' in answer ? answer.answer : undefined;
  };
  return {
    url: new URL(told.url),
    cpuMicros: async () => (await ask('cpu')) as number,
    ask,
    stop: () => child.disconnect(),
    async kill() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

async function hear(child: ChildProcess, server: string): Promise<Told> {
  const heard = new AbortController();
  const { signal } = heard;
  const message = once(child, 'message', { signal }).then(([told]) => told as Told);
  const end = once(child, 'exit', { signal }).then(() => {
    throw new Error(`the server "${server}" ended before it answered`);
  });
  try {
    return await Promise.race([message, end]);
  } finally {
    heard.abort();
  }
}

/** In the server: listens on a free port of this machine, and tells. */
export function listen(server: Server): void {
  server.listen(0, '127.0.0.1', () => tell(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
}

/** In the server: tells its URL, and from then on what it is asked. Ends it with the measuring process. */
export function tell(url: string, answers: Answers = {}): void {
  const all: Answers = { ...answers, cpu };
  process.on('message', (question: string) => {
    void (async () => process.send?.({ answer: await all[question]?.() }))();
  });
  process.on('disconnect', () => process.exit());
  process.send?.({ url });
}

function cpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
