import type { StandardSchemaV1 } from '@standard-schema/spec';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { check, checkJson, describeSchema, issuesText, jsonSchema } from './schema.ts';

const ADDRESS = {
  type: 'object',
  properties: { address: { type: 'object', properties: { zip: { type: 'string' } }, required: ['zip'] } },
  required: ['address'],
};

/** One and the same thing, as each library says it. */
const LIBRARIES: [string, StandardSchemaV1][] = [
  ['zod', z.object({ address: z.object({ zip: z.string() }) })],
  ['valibot', v.object({ address: v.object({ zip: v.string() }) })],
  ['valibot, wrapped', toStandardJsonSchema(v.object({ address: v.object({ zip: v.string() }) }))],
  ['arktype', type({ address: { zip: 'string' } })],
  ['jsonSchema', jsonSchema(ADDRESS)],
];

describe.each(LIBRARIES)('a schema of %s', (_, schema) => {
  it('lets through what fits', async () => {
    expect(await check(schema, { address: { zip: '1010' } })).toEqual({ value: { address: { zip: '1010' } } });
  });

  it('says where a value does not fit', async () => {
    const checked = await check(schema, { address: { zip: 1010 } });
    expect(checked).toEqual({ issues: [{ path: 'address.zip', message: expect.stringMatching(/string/i) }] });
  });

  it('says so of the whole value, too', async () => {
    const checked = await check(schema, 'nowhere');
    expect(checked).toMatchObject({ issues: [{ path: '' }] });
  });
});

describe('a Standard Schema', () => {
  it('may take its time', async () => {
    const free = z.string().refine(async (name) => name !== 'taken', 'is taken');
    expect(await check(free, 'taken')).toEqual({ issues: [{ path: '', message: 'is taken' }] });
    expect(await check(free, 'new')).toEqual({ value: 'new' });
  });

  it('gives the value as it reads it: with defaults filled in, and transformed', async () => {
    const schema = z.object({ n: z.coerce.number(), unit: z.string().default('km') });
    expect(await check(schema, { n: '5' })).toEqual({ value: { n: 5, unit: 'km' } });
  });
});

describe('a JSON Schema', () => {
  const issues = (schema: Parameters<typeof checkJson>[0], value: unknown) => {
    const checked = checkJson(schema, value);
    return 'issues' in checked ? checked.issues : [];
  };

  it('lets through what fits, as it is', () => {
    const value = { address: { zip: 'x' } };
    expect(checkJson(ADDRESS, value)).toEqual({ value });
  });

  it('leaves its schema as it is, also one that cannot be changed', () => {
    const schema = Object.freeze({
      type: 'object',
      properties: Object.freeze({ go: Object.freeze({ type: 'boolean' }) }),
    });
    expect(checkJson(schema, { go: true })).toEqual({ value: { go: true } });
    expect(jsonSchema(schema)['~standard'].validate({ go: 7 })).toMatchObject({ issues: [{}] });
    expect(Reflect.ownKeys(schema)).toEqual(['type', 'properties']);
  });

  it('names the innermost place only', () => {
    expect(issues(ADDRESS, { address: { zip: 5 } }).map(({ path }) => path)).toEqual(['address.zip']);
    expect(issues(ADDRESS, { address: {} }).map(({ path }) => path)).toEqual(['address']);
    expect(issues(ADDRESS, {}).map(({ path }) => path)).toEqual(['']);
  });

  it('names places as a person would, whatever the keys are', async () => {
    const number = { type: 'number' };
    const schema = { type: 'object', properties: { 'first name': number, 'a/b': number, 'c~d': number, 'ä%': number } };
    const value = { 'first name': '', 'a/b': '', 'c~d': '', 'ä%': '' };
    expect(issues(schema, value).map(({ path }) => path)).toEqual(['first name', 'a/b', 'c~d', 'ä%']);
    expect(await check(jsonSchema(schema), value)).toMatchObject({
      issues: [{ path: 'first name' }, { path: 'a/b' }, { path: 'c~d' }, { path: 'ä%' }],
    });
  });

  it('tells Standard Schema the path key by key, also where a key has a dot in it', async () => {
    const schema = jsonSchema({ type: 'object', properties: { 'a.b': { type: 'array', items: { type: 'number' } } } });
    const result = await schema['~standard'].validate({ 'a.b': [1, 'x'] });
    expect(result.issues?.map(({ path }) => path)).toEqual([['a.b', '1']]);
  });

  it('is of 2020-12', () => {
    const pair = { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false };
    expect(issues(pair, ['a', 1])).toEqual([]);
    expect(issues(pair, ['a', 'b'])).toMatchObject([{ path: '1' }]);
    expect(issues(pair, ['a', 1, true])).toMatchObject([{ path: '2' }]);
  });

  it('checks formats', () => {
    expect(issues({ type: 'string', format: 'email' }, 'nobody')).toMatchObject([{ path: '' }]);
    expect(issues({ type: 'string', format: 'email' }, 'ada@example.org')).toEqual([]);
  });
});

describe('issues in one line', () => {
  it('name each place, but not the whole', () => {
    expect(
      issuesText([
        { path: 'a.b', message: 'must be a number' },
        { path: '', message: 'is odd' },
      ]),
    ).toBe('a.b: must be a number; is odd');
  });
});

describe('a schema as clients read it', () => {
  it.each([
    ['zod', z.object({ a: z.string(), b: z.number().optional() })],
    ['arktype', type({ a: 'string', 'b?': 'number' })],
    ['valibot, wrapped', toStandardJsonSchema(v.object({ a: v.string(), b: v.optional(v.number()) }))],
    [
      'jsonSchema',
      jsonSchema({
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'number' } },
        required: ['a'],
      }),
    ],
  ] as [string, StandardSchemaV1][])('is JSON Schema: %s', (_, schema) => {
    expect(describeSchema(schema, 'input', 'it')).toMatchObject({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'number' } },
      required: ['a'],
    });
  });

  it('has an input and an output side', () => {
    const schema = z.object({ n: z.string().transform(Number).pipe(z.number()), unit: z.string().default('km') });
    expect(describeSchema(schema, 'input', 'it')).toMatchObject({
      properties: { n: { type: 'string' } },
      required: ['n'],
    });
    expect(describeSchema(schema, 'output', 'it')).toMatchObject({
      properties: { n: { type: 'number' } },
      required: ['n', 'unit'],
    });
  });

  it('is an error that names whose schema it is, and what to do, where a library cannot say it', () => {
    const plain = v.object({ a: v.string() });
    expect(() => describeSchema(plain, 'input', 'tool "x": inputSchema')).toThrow(
      /^tool "x": inputSchema: .*toStandardJsonSchema/,
    );
  });

  it('is an error that names whose schema it is, where JSON cannot hold what it describes', () => {
    const dated = z.object({ day: z.date() });
    expect(() => describeSchema(dated, 'input', 'tool "x": inputSchema')).toThrow(
      new TypeError('tool "x": inputSchema: Date cannot be represented in JSON Schema'),
    );
  });
});
