import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createErrand } from '../../src/index.ts';
import { sqlite } from '../../src/stores/sqlite.ts';
import { temporaryFolder } from '../fixtures/served.ts';
import { addSessionTools } from '../fixtures/session-tools.ts';
import { openSession } from '../fixtures/session-wire.ts';
import type { Loose } from '../wire-schemas.ts';

const YES = { action: 'accept', content: { go: true } };
const asks = ({ method }: Loose) => method === 'elicitation/create';

/** Two servers on one file, of which one runs the handlers. */
async function two() {
  const file = path.join(await temporaryFolder(), 'tasks.db');
  const urls: string[] = [];
  for (let count = 0; count < 2; count++) {
    const errand = createErrand({ name: 'errand-test', version: '1.0.0', store: sqlite(file) });
    addSessionTools(errand);
    onTestFinished(() => errand.close());
    urls.push((await errand.serve({ port: 0 })).url);
  }
  return urls as [string, string];
}

describe('a session on several servers of one store', { timeout: 30_000 }, () => {
  it('is good on each of them, and each takes the answer to a question that another put', async () => {
    const [one, other] = await two();
    const here = await openSession(one);
    const there = await openSession(other, { session: here.session! });
    const { taskId } = await here.begin('publish', { page: 'home' });
    const wait = await here.open('tasks/result', { taskId });
    const question = await wait.next(asks);
    expect(await there.result('tasks/get', { taskId })).toMatchObject({ status: 'input_required' });
    expect((await there.respond(question.id, YES)).status).toBe(202);
    expect((await wait.outcome()).result.structuredContent).toMatchObject({ size: 400 });
  });

  it('is asked where it listens, wherever its task was made (CASES 18, 20)', async () => {
    const [one, other] = await two();
    const here = await openSession(one);
    const there = await openSession(other, { session: here.session! });
    const stream = await there.listen();
    const { taskId } = await here.begin('publish', { page: 'home' });
    const question = await stream.next(asks);
    await there.respond(question.id, YES);
    await stream.next(({ params }) => params?.taskId === taskId && params.status === 'completed');
  });
});
