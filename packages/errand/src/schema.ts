import { Validator } from '@cfworker/json-schema';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { isObject, type JsonObject } from './json.ts';

/** What a schema found wrong: where (`address.zip`, empty for the whole) and what. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

export type Checked<T> = { readonly value: T } | { readonly issues: readonly Issue[] };

/** Checks a value by any Standard Schema. */
export async function check<S extends StandardSchemaV1>(
  schema: S,
  value: unknown,
): Promise<Checked<StandardSchemaV1.InferOutput<S>>> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { value: result.value as StandardSchemaV1.InferOutput<S> };
  return { issues: result.issues.map(({ path, message }) => ({ path: pathOf(path), message })) };
}

/** Checks a value by a JSON Schema (2020-12). */
export function checkJson(schema: JsonObject, value: unknown): Checked<unknown> {
  const issues = problems(validatorOf(schema), value);
  if (issues.length === 0) return { value };
  return { issues: issues.map(({ path, message }) => ({ path: path.join('.'), message })) };
}

/** All issues in one line. */
export function issuesText(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

/**
 * A schema as JSON Schema, for clients to read. Throws a `TypeError` that names `what` where the
 * schema cannot describe itself.
 */
export function describeSchema(schema: StandardSchemaV1, side: 'input' | 'output', what: string): JsonObject {
  const standard = schema['~standard'] as Partial<StandardJSONSchemaV1.Props> | undefined;
  if (standard?.jsonSchema === undefined) {
    const how =
      'zod 4 and ArkType can; for Valibot wrap it in toStandardJsonSchema; for a plain JSON Schema use jsonSchema()';
    throw new TypeError(`${what}: the schema cannot describe itself as JSON Schema (${how})`);
  }
  try {
    return standard.jsonSchema[side]({ target: 'draft-2020-12' }) as JsonObject;
  } catch (cause) {
    throw new TypeError(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** A Standard Schema from a JSON Schema (2020-12), for tools that have no other. */
export function jsonSchema<T = JsonObject>(schema: JsonObject): StandardSchemaV1<T> & StandardJSONSchemaV1<T> {
  const validator = validatorOf(schema);
  return {
    '~standard': {
      version: 1,
      vendor: 'errand',
      validate(value) {
        const issues = problems(validator, value);
        return issues.length === 0 ? { value: value as T } : { issues };
      },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}

/** The validator writes into the schema that it is given: that may be part of a task's record, or frozen by its owner. */
function validatorOf(schema: JsonObject): Validator {
  return new Validator(structuredClone(schema), '2020-12', false);
}

/** What a validator finds wrong, each under its path. */
function problems(validator: Validator, value: unknown): { path: string[]; message: string }[] {
  const { valid, errors } = validator.validate(value);
  if (valid) return [];
  // The validator also reports every place around a wrong one; only the innermost are to be mended.
  const innermost = errors.filter(
    (error) => !errors.some((other) => other.instanceLocation.startsWith(`${error.instanceLocation}/`)),
  );
  return innermost.map(({ instanceLocation, error }) => ({ path: segments(instanceLocation), message: error }));
}

/** The keys along a JSON pointer in its URI form (`#/a~1b/0`). */
function segments(pointer: string): string[] {
  const [, ...keys] = pointer.split('/');
  return keys.map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function pathOf(path: StandardSchemaV1.Issue['path']): string {
  // Not path.map(): ArkType's paths are a subclass of Array that maps an empty one to a full one.
  return Array.from(path ?? [], (segment) => String(isObject(segment) ? segment['key'] : segment)).join('.');
}
