import type { Errand } from '../../src/errand.ts';
import type { TaskContext } from '../../src/engine/context.ts';
import * as z from 'zod';

const NAME = z.object({ name: z.string() });
const QUESTION = { role: 'user', content: { type: 'text', text: 'What is the capital of France?' } } as const;

async function askName(task: TaskContext): Promise<string> {
  const answer = await task.elicit('user_name', { message: 'What is your name?', schema: NAME });
  return answer.content?.name ?? 'nobody';
}

async function askCapital(task: TaskContext): Promise<string> {
  const answer = await task.sample('capital_question', { messages: [QUESTION], maxTokens: 100 });
  return JSON.stringify(answer.content);
}

async function askFolders(task: TaskContext): Promise<string> {
  const roots = await task.roots('client_roots');
  return roots.map((root) => root.uri).join(', ');
}

async function askAgreement(task: TaskContext): Promise<string> {
  const answer = await task.elicit('confirm', { message: 'Go on?', schema: z.object({ ok: z.boolean() }) });
  return answer.content?.ok === true ? 'state-ok' : 'state-refused';
}

/** The tools that the `input-required-result-*` scenarios and `server-stateless` call: questions, and never a task. */
export function addRoundTools(errand: Errand): void {
  const round = (name: string, description: string, handler: (task: TaskContext) => Promise<string>): void => {
    errand.tool(name, { description, task: 'never' }, (_args, task) => handler(task));
  };

  round('test_input_required_result_elicitation', 'Asks a person', async (task) => `Hello, ${await askName(task)}!`);
  round('test_input_required_result_sampling', 'Asks the model', askCapital);
  round('test_input_required_result_list_roots', 'Asks for the folders', askFolders);
  round('test_input_required_result_request_state', 'Needs its state back', askAgreement);
  round('test_input_required_result_tampered_state', 'Refuses a state that it did not write', askAgreement);
  round('test_input_required_result_multiple_inputs', 'Asks everybody at once', async (task) => {
    return (await Promise.all([askName(task), askCapital(task), askFolders(task)])).join('; ');
  });
  round('test_input_required_result_multi_round', 'Asks twice, one after the other', async (task) => {
    const name = await askName(task);
    const colour = await task.elicit('colour', {
      message: `Which colour, ${name}?`,
      schema: z.object({ color: z.string() }),
    });
    return `${name} likes ${colour.content?.color ?? 'nothing'}`;
  });
  round('test_input_required_result_capabilities', 'Asks only what the client can answer', (task) =>
    task.can('elicitation') ? askName(task) : askCapital(task),
  );

  round('test_missing_capability', 'Cannot do without the model of the client', askCapital);
  round('test_streaming_elicitation', 'Asks a person while the client listens', askName);
}
