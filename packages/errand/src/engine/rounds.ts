import type { JsonValue } from '../json.ts';
import type { Limits } from '../limits.ts';
import type { InputCapabilities, InputRequest, InputResponse } from '../task/input.ts';
import { checkAnswer } from './answers.ts';
import type { Questions } from './context.ts';
import { createQuestions, type Question } from './questions.ts';

/** How a round came out: done, or with questions that must be answered before the next one. */
export type Round<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'input'; readonly requests: Readonly<Record<string, InputRequest>> };

/**
 * Plays one round of a call that asks before it answers (MRTR): runs `work` from the top with the
 * answers that are there. Where it waits for others, the round ends with all questions that it
 * has put by then, and what `work` awaits never settles.
 */
export async function playRound<T>(
  capabilities: InputCapabilities,
  answers: Readonly<Record<string, InputResponse>>,
  limits: Limits,
  work: (ask: Questions) => T | Promise<T>,
): Promise<Round<T>> {
  const open = new Map<string, InputRequest>();
  let endWithQuestions!: (round: Round<T>) => void;
  const asked = new Promise<Round<T>>((resolve) => (endWithQuestions = resolve));

  const ask = ({ key, request }: Question): Promise<JsonValue> => {
    if (Object.hasOwn(answers, key)) return Promise.resolve(checkAnswer(key, request, answers[key], limits));
    open.set(key, request);
    // The other branches of the handler get to put their questions first.
    setImmediate(() => endWithQuestions({ kind: 'input', requests: Object.fromEntries(open) }));
    return new Promise<never>(() => undefined);
  };

  const done = async (): Promise<Round<T>> => ({
    kind: 'done',
    value: await work(createQuestions(capabilities, limits, ask)),
  });
  return Promise.race([done(), asked]);
}
