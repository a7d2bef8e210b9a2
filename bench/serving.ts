import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

/** What a measured server tells the process that measures it. */
type Told = { readonly url: string } | { readonly cpuMicros: number };

/** A server in a process of its own, so that its work is not ours. */
export interface Serving {
  readonly url: URL;
  /** CPU time that the process has used so far, all its threads together, in µs. */
  cpuMicros(): Promise<number>;
  stop(): void;
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
  const told = await Promise.race([hear(child), once(child, 'exit')]);
  if (!('url' in told)) throw new Error(`${file} ended before it listened`);
  return {
    url: new URL(told.url),
    cpuMicros: async () => {
      child.send('cpu');
      const answer = await hear(child);
      return 'cpuMicros' in answer ? answer.cpuMicros : Number.NaN;
    },
    stop: () => child.disconnect(),
  };
}

async function hear(child: ChildProcess): Promise<Told> {
  const [told] = (await once(child, 'message')) as [Told];
  return told;
}

/** In the server: listens on a free port of this machine, and tells. */
export function listen(server: Server): void {
  server.listen(0, '127.0.0.1', () => tell(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
}

/** In the server: tells its URL, and from then on what CPU it used when asked. Ends it with the measuring process. */
export function tell(url: string): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuMicros: user + system });
  });
  process.on('disconnect', () => process.exit());
  process.send?.({ url });
}
