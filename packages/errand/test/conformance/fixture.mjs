import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Starts the fixture server on a free port, with its tasks in `file`; `started` is given the process. Resolves
 * with the endpoint and with how to read what the server wrote to stderr.
 */
export async function startFixture(file, started) {
  const child = spawn(process.execPath, ['--import', 'tsx', path.join(import.meta.dirname, 'server.ts'), file], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  started(child);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => (log += chunk));
  const first = once(createInterface({ input: child.stdout }), 'line');
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`The fixture server ended with ${code} before it listened:\n${log}`);
  });
  const [url] = await Promise.race([first, ended]);
  // From here on its end shows as requests that fail.
  ended.catch(() => undefined);
  return { url, log: () => log.trim() };
}
