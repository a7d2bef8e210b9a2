import { createErrand } from '../../src/index.ts';
import { sqlite } from '../../src/stores/sqlite.ts';
import { addRoundTools } from './round-tools.ts';
import { addSchemaTools } from './schema-tools.ts';
import { sdkServer } from './sdk-server.ts';
import { addSessionTools } from './session-tools.ts';
import { addTaskTools } from './task-tools.ts';

// The server that the public conformance suite is run against: `node --import tsx server.ts FILE`.
// It prints its endpoint as its only line and serves until stdin ends.

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Say which SQLite file to keep the tasks in');

const errand = createErrand({ name: 'errand-conformance', version: '1.0.0', store: sqlite(file), server: sdkServer });
addTaskTools(errand);
addRoundTools(errand);
addSchemaTools(errand);
addSessionTools(errand);

const serving = await errand.serve({ port: 0 });
console.log(serving.url);

// The runner holds the other end of stdin: when it lets go, or dies, there is nobody left to serve.
process.stdin.resume().once('end', () => {
  void serving.close().then(() => errand.close());
});
