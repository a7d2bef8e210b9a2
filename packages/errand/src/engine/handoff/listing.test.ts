import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/client/validators/cf-worker';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { JsonObject, JsonValue } from '../../json.ts';
import { describeSchema } from '../../schema.ts';
import type { ListedTool } from '../engine.ts';
import { orHandle } from './listing.ts';

const HANDLE = { taskId: 't', status: 'working' };

function listedWith(outputSchema: JsonObject): JsonObject {
  const tool: ListedTool = { name: 't', inputSchema: { type: 'object' }, outputSchema };
  return orHandle(tool).outputSchema!;
}

/** Whether a value fits, by the two validators of the official client. */
function fits(schema: JsonObject, value: JsonValue): boolean {
  const [one, two] = [new AjvJsonSchemaValidator(), new CfWorkerJsonSchemaValidator()].map(
    (validator) => validator.getValidator(structuredClone(schema))(value).valid,
  );
  expect({ value, valid: two }).toEqual({ value, valid: one });
  return one!;
}

interface Tree {
  readonly name: string;
  readonly children: readonly Tree[];
}
const TREE: z.ZodType<Tree> = z.lazy(() => z.object({ name: z.string(), children: z.array(TREE) }));

describe('the schema of a result that may be a handle', () => {
  it.each<[string, JsonObject, JsonValue, JsonValue]>([
    ['plain', describeSchema(z.object({ n: z.number() }), 'output', 't'), { n: 1 }, { n: 'one' }],
    [
      'recursive',
      describeSchema(TREE, 'output', 't'),
      { name: 'a', children: [{ name: 'b', children: [] }] },
      { name: 'a', children: [{ name: 1, children: [] }] },
    ],
    [
      'with definitions',
      {
        type: 'object',
        properties: { at: { $ref: '#/$defs/place' }, $ref: { type: 'number' } },
        required: ['at'],
        $defs: { place: { type: 'object', properties: { zip: { $ref: '#/$defs/zip' } } }, zip: { type: 'string' } },
      },
      { at: { zip: '1' }, $ref: 7 },
      { at: { zip: 1 } },
    ],
    [
      'with an anchor',
      { type: 'object', properties: { at: { $ref: '#place' } }, $defs: { p: { $anchor: 'place', type: 'string' } } },
      { at: 'here' },
      { at: 1 },
    ],
    [
      'with an id',
      {
        $id: 'https://example.com/own',
        type: 'object',
        properties: { at: { $ref: '#/$defs/p' } },
        $defs: { p: { type: 'string' } },
      },
      { at: 'here' },
      { at: 1 },
    ],
    [
      'with data that looks like a reference',
      { type: 'object', properties: { a: { const: { $ref: '#/x' } } }, required: ['a'] },
      { a: { $ref: '#/x' } },
      { a: { $ref: '#/anyOf/0/x' } },
    ],
  ])('takes what the tool returns, and a handle, and nothing else: %s', (_, own, good, bad) => {
    const schema = listedWith(own);
    expect(fits(schema, good)).toBe(true);
    expect(fits(schema, HANDLE)).toBe(true);
    expect(fits(schema, bad)).toBe(false);
  });

  it('is one of an object, which older clients take alone, but for results that are none', () => {
    expect(listedWith({ type: 'object' })).toMatchObject({ type: 'object', anyOf: [{ type: 'object' }, {}] });
    const list = listedWith({ type: 'array', items: { type: 'number' } });
    expect(list).not.toHaveProperty('type');
    expect(fits(list, [1])).toBe(true);
  });

  it('says on top by which rules it is written', () => {
    const $schema = 'https://json-schema.org/draft/2020-12/schema';
    const schema = listedWith({ $schema, type: 'object' });
    expect(schema).toMatchObject({ $schema });
    expect((schema['anyOf'] as JsonObject[])[0]).toEqual({ type: 'object' });
  });

  it('is not there where the tool has none', () => {
    const tool: ListedTool = { name: 't', inputSchema: { type: 'object' } };
    expect(orHandle(tool)).toBe(tool);
  });
});
