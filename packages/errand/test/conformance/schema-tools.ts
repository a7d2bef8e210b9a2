import { jsonSchema } from '../../src/index.ts';
import type { Errand } from '../../src/errand.ts';
import * as z from 'zod';

/** The tools whose schemas the scenarios read: one mirrors an argument into a header, one uses all of JSON Schema 2020-12. */
export function addSchemaTools(errand: Errand): void {
  errand.tool(
    'test_custom_header',
    {
      description: 'Wants its region in a header too',
      inputSchema: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) }),
      task: 'never',
    },
    ({ region }) => `In ${region}`,
  );

  errand.tool(
    'json_schema_2020_12_tool',
    {
      description: 'Lists its schema unchanged',
      inputSchema: jsonSchema({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        $defs: {
          address: {
            $anchor: 'addressDef',
            type: 'object',
            properties: { street: { type: 'string' }, city: { type: 'string' } },
          },
        },
        properties: {
          name: { type: 'string' },
          address: { $ref: '#/$defs/address' },
          contactMethod: { type: 'string', enum: ['phone', 'email'] },
          phone: { type: 'string' },
          email: { type: 'string' },
        },
        allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
        if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
        then: { required: ['phone'] },
        else: { required: ['email'] },
        additionalProperties: false,
      }),
      task: 'never',
    },
    (args) => JSON.stringify(args),
  );
}
