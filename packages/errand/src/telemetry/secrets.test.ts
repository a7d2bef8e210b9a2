import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { listenByOpenTelemetry } from '../../test/fixtures/telemetry.ts';
import { wireClient } from '../../test/fixtures/wire.ts';
import { createErrand } from '../errand.ts';
import type { Principal } from '../task/principal.ts';
import { logOptions } from './log.ts';

const told = listenByOpenTelemetry();
afterAll(() => told.stop());

const ALICE: Principal = { kind: 'user', issuer: 'i', subject: 'alice' };

/** Each is said once, in a place of its own. */
const SECRETS = {
  token: 'SECRET-TOKEN',
  argument: 'SECRET-ARGUMENT',
  step: 'SECRET-STEP-RESULT',
  answer: 'SECRET-ANSWER',
  result: 'SECRET-RESULT',
  thrown: 'SECRET-ERROR-DATA',
  client: 'SECRET-HEADER-OF-A-CLIENT',
};

it('spans, measurements and logs have nothing of what calls are given, answered or come to', async () => {
  let logged = '';
  const sink = new Writable({
    write(chunk, _, done) {
      logged += String(chunk);
      done();
    },
  });
  const log = pino({ ...logOptions, level: 'trace' }, sink);
  const errand = createErrand({ name: 't', version: '1', log });
  errand.tool('work', { task: 'always', inputSchema: z.object({ text: z.string() }) }, async ({ text }, task) => {
    await task.step('one', () => ({ text, value: SECRETS.step }));
    const { content } = await task.elicit('q', { message: 'Word?', schema: z.object({ word: z.string() }) });
    const failed = await task
      .step(
        'two',
        () => {
          throw Object.assign(new Error('refused'), {
            data: SECRETS.thrown,
            config: { headers: { 'x-key': SECRETS.client } },
          });
        },
        { retry: { attempts: 2, backoff: 1 } },
      )
      .catch(() => true);
    return { content: [{ type: 'text', text: `${SECRETS.result} ${content?.word} ${failed}` }], isError: true };
  });
  const verify = (token: string) => (token === SECRETS.token ? { principal: ALICE, scopes: [] } : undefined);
  const { url } = await errand.serve({ port: 0, auth: { mode: 'required', verify } });
  onTestFinished(() => errand.close());
  const client = wireClient(url, { headers: { authorization: `Bearer ${SECRETS.token}` } });

  const id = await client.begin('work', { text: SECRETS.argument });
  await client.asked(id, 'q');
  await client.update(id, { q: { action: 'accept', content: { word: SECRETS.answer } } });
  expect(JSON.stringify(await client.ended(id))).toContain(`${SECRETS.result} ${SECRETS.answer} true`);
  await client.send('tools/call', { name: 'work', arguments: { text: 7, other: SECRETS.argument } });

  const spans = told.spans().map(({ name, attributes, events, links, status }) => ({
    name,
    attributes,
    events,
    links,
    status,
  }));
  expect(spans.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['tools/call work', 'run work', 'step one', 'step two']),
  );
  const measured = (await told.points()).map(({ attributes }) => attributes);
  expect(measured.length).toBeGreaterThan(0);
  expect(logged).toContain('step failed, trying again');
  for (const [where, secret] of Object.entries(SECRETS)) {
    for (const all of [JSON.stringify(spans), JSON.stringify(measured), logged])
      expect(all, where).not.toContain(secret);
  }
});
