import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface ServerProcess {
  readonly url: string;
  /** Ends it at once (SIGKILL): no handler runs, nothing is flushed. */
  kill(): Promise<void>;
}

/** Starts a file as a server in a process of its own. Resolves when it has told its URL. */
export async function startServer(file: string, ...args: string[]): Promise<ServerProcess> {
  const options = { cwd: import.meta.dirname, execArgv: ['--import', 'tsx'] };
  const child = fork(fileURLToPath(file), ['serve', ...args], options);
  const [url] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the server ended with ${code} before it listened`))),
  ])) as [string];
  const exited = once(child, 'exit');
  return {
    url,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** In the server: tells its URL, and ends it when the process that started it is gone. */
export function tellUrl(url: string): void {
  process.on('disconnect', () => process.exit());
  process.send?.(url);
}
