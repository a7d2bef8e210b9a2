import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What a measured server tells the process that measures it. */
type Told = { readonly url: string } | { readonly cpuMicros: number };

/** A server in a process of its own, so that its work is not ours. */
export interface Serving {
  readonly url: URL;
  /** CPU time that the process has used so far, in µs. */
  cpuMicros(): Promise<number>;
  stop(): void;
}

/** Starts a file of this folder as a server. */
export async function start(file: string, ...args: string[]): Promise<Serving> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args);
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

/** In the server: tells its URL, and from then on what CPU it used when asked. Ends it with the measuring process. */
export function tell(url: string): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuMicros: user + system });
  });
  process.on('disconnect', () => process.exit());
  process.send?.({ url });
}
