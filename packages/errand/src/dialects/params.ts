import { ErrandError } from '../../errors.ts';

/** The error of params that are not what their method takes. */
export function invalid(why: string): ErrandError {
  return new ErrandError('invalidParams', `Invalid params: ${why}`);
}

export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}
