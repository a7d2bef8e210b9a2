import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { TaskContext } from '../../engine/context.ts';
import type { JsonObject } from '../../json.ts';
import { testClient } from '../../testing.ts';
import { makeBed, resultOf, textOf, type Define, type Disk } from './bed.suite.ts';

const NAME = z.object({ name: z.string() });
const named = (name: string): JsonObject => ({ action: 'accept', content: { name } });

/** Calls that ask before they answer, round by round (MRTR). */
export function roundSuite(openDisk: () => Disk): void {
  describe('what is asked before there is a task', () => {
    const define: Define = (errand) =>
      errand.tool(
        'deploy',
        {
          task: 'always',
          inputSchema: z.object({ to: z.string() }),
          prepare: async ({ to }, ask) => {
            const who = await ask.elicit('who', { message: `Who deploys to ${to}?`, schema: NAME });
            if (who.action !== 'accept') return { by: null };
            const { action } = await ask.elicit('sure', {
              message: `Sure, ${who.content.name}?`,
              schema: z.object({}),
            });
            return { by: who.content.name, sure: action === 'accept' };
          },
        },
        async ({ to }, task) => JSON.stringify([to, task.prepared]),
      );

    it('is asked in rounds, and what came of it is the handler’s (E-17)', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(define);
      const call = (inputResponses: JsonObject, { requestState }: JsonObject) =>
        client.call('deploy', { to: 'prod' }, { inputResponses, requestState: requestState! });
      const first = await client.call('deploy', { to: 'prod' });
      expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { who: {} } });
      const second = await call({ who: named('Ada') }, first);
      expect(Object.keys(second['inputRequests']!)).toEqual(['sure']);
      expect(await bed.disk.live('anonymous')).toBe(0);
      const task = await call({ sure: { action: 'accept', content: {} } }, second);
      expect(task).toMatchObject({ resultType: 'task' });
      expect(await resultOf(client, task['taskId'] as string)).toBe('["prod",{"by":"Ada","sure":true}]');
    });

    it('is bound to the call it was asked for', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { client } = await bed.server(define);
      const { requestState } = await client.call('deploy', { to: 'test' });
      await expect(
        client.call('deploy', { to: 'prod' }, { inputResponses: { who: named('Ada') }, requestState: requestState! }),
      ).rejects.toMatchObject({ code: -32602, message: /requestState/ });
    });

    it('is an error of the call where the client cannot be asked, or answers nonsense', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const { errand, client } = await bed.server(define);
      const mute = testClient(errand, { capabilities: {} });
      await expect(mute.call('deploy', { to: 'prod' })).rejects.toMatchObject({ code: -32021 });
      await expect(
        client.call('deploy', { to: 'prod' }, { inputResponses: { who: { action: 'maybe' } } }),
      ).rejects.toMatchObject({ code: -32602, data: { path: 'inputResponses["who"].action' } });
    });
  });

  describe('a tool without tasks', () => {
    it('asks in rounds: its handler runs anew with all the answers so far', async (t) => {
      const bed = await makeBed(openDisk(), t);
      let runs = 0;
      const { client, plain } = await bed.server((errand) =>
        errand.tool('greet', { task: 'never' }, async (_, task) => {
          runs++;
          const { content } = await task.elicit('who', { message: 'Who?', schema: NAME });
          const model = await task.sample('model', { messages: [], maxTokens: 1 });
          return `hello ${content?.name} from ${model.model}`;
        }),
      );
      const answers = {
        who: named('Ada'),
        model: { role: 'assistant', content: { type: 'text', text: '' }, model: 'm' },
      };
      for (const caller of [client, plain]) {
        runs = 0;
        expect(textOf(await caller.run('greet', {}, answers))).toBe('hello Ada from m');
        expect(runs).toBe(2);
      }
      const first = await plain.call('greet');
      const second = await plain.call(
        'greet',
        {},
        { inputResponses: { who: answers.who }, requestState: first['requestState']! },
      );
      expect(Object.keys(second['inputRequests']!)).toEqual(['model']);
      const third = await plain.call(
        'greet',
        {},
        { inputResponses: { model: answers.model }, requestState: second['requestState']! },
      );
      expect(textOf(third)).toBe('hello Ada from m');
    });

    it('has no journal, and says so', async (t) => {
      const bed = await makeBed(openDisk(), t);
      const tries: Record<string, (task: TaskContext) => unknown> = {
        step: (task) => task.step('a', () => 1),
        sleep: (task) => task.sleep(1),
        now: (task) => task.now(),
        uuid: (task) => task.uuid(),
        status: (task) => task.status('x'),
        id: (task) => task.id,
      };
      const { client } = await bed.server((errand) => {
        for (const [name, attempt] of Object.entries(tries)) {
          errand.tool(name, { task: 'never' }, async (_, task) => String(await attempt(task)));
        }
      });
      for (const name of Object.keys(tries)) {
        expect(textOf(await client.call(name))).toBe(
          `${name}: tool "${name}" has task: 'never', so it has no journal; use task: 'auto' or 'always'`,
        );
      }
    });
  });
}
