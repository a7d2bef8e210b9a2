import { isObject } from '../json.ts';
import type { JsonObject } from '../json.ts';
import type { InputCapabilities } from '../task/input.ts';

/**
 * Which questions a client can answer (F-1, N-10), by its capabilities, which every revision writes alike. An
 * elicitation that names no mode is one by form.
 */
export function inputCapabilities({ elicitation, sampling, roots }: JsonObject): InputCapabilities {
  return {
    ...(isObject(elicitation)
      ? {
          elicitation: {
            form: isObject(elicitation.form) || !isObject(elicitation.url),
            url: isObject(elicitation.url),
          },
        }
      : {}),
    ...(isObject(sampling)
      ? { sampling: { tools: isObject(sampling.tools), context: isObject(sampling.context) } }
      : {}),
    ...(isObject(roots) ? { roots: true } : {}),
  };
}

const LOG_LEVELS = new Set<unknown>(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']);

export function isLogLevel(value: unknown): value is string {
  return LOG_LEVELS.has(value);
}
