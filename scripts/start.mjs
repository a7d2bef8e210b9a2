import './node-version.mjs';
import path from 'node:path';
// The whole module: where `parseArgs` is missing, a named import of it fails before the version is looked at.
import util from 'node:util';
import { ROOT, setUp } from './setup.mjs';
import { fail } from './terminal.mjs';

const HELP = `Serves three example tools as durable MCP tasks over HTTP.

  npm start -- [options]

  --port <number>   the port to listen on; 0 takes a free one (default: $PORT, else 8080)
  --root <folder>   the tools read files below this folder only (default: where you are)
  --data <folder>   where tasks and thumbnails are kept (default: ./data)
  --help            shows this
`;

function options() {
  try {
    const { values } = util.parseArgs({
      options: {
        port: { type: 'string', default: process.env.PORT || '8080' },
        root: { type: 'string', default: process.cwd() },
        data: { type: 'string', default: path.join(ROOT, 'data') },
        help: { type: 'boolean', default: false },
      },
    });
    return values;
  } catch (error) {
    return fail(error.message, ['`npm start -- --help` lists the options.']);
  }
}

const { port, root, data, help } = options();
if (help) {
  process.stdout.write(HELP);
} else if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) {
  fail(`${JSON.stringify(port)} is no port: write a number from 0 to 65535.`);
} else {
  setUp();
  const { register } = await import('tsx/esm/api');
  register();
  const { serveDemo } = await import('../examples/demo/server.ts');
  await serveDemo({ port: Number(port), root: path.resolve(root), data: path.resolve(data) });
}
