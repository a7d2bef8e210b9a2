import type { JsonObject } from '../../json.ts';
import type { ListedTool } from '../engine.ts';
import { HANDLE_SCHEMA } from './handle.ts';

/** A tool as clients list it whose call may be handed off: its structured content fits its own schema, or is a handle. */
export function orHandle(tool: ListedTool): ListedTool {
  if (tool.outputSchema === undefined) return tool;
  const { $schema, ...own } = tool.outputSchema;
  return {
    ...tool,
    outputSchema: {
      ...($schema !== undefined && { $schema }),
      // Older clients take no schema of another type; to one that is not an object they could not take part anyhow.
      ...(own['type'] === 'object' && { type: 'object' }),
      anyOf: [typeof own['$id'] === 'string' ? own : movedTo('#/anyOf/0', own), HANDLE_SCHEMA],
    },
  };
}

/** Keywords whose value is no schema. */
const DATA = new Set(['const', 'enum', 'default', 'examples']);

/** A schema that has become a part of another one: what it refers to within itself is found at its new place. */
function movedTo(place: string, schema: JsonObject): JsonObject {
  const move = (value: unknown, isSchema: boolean): unknown => {
    if (Array.isArray(value)) return value.map((item) => move(item, isSchema));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value as JsonObject);
    // A part with an id of its own is looked up by that.
    if (isSchema && entries.some(([key, id]) => key === '$id' && typeof id === 'string')) return value;
    return Object.fromEntries(
      entries.map(([key, member]) => {
        if (isSchema && key === '$ref' && typeof member === 'string' && /^#(\/|$)/.test(member))
          return [key, `${place}${member.slice(1)}`];
        if (isSchema && DATA.has(key)) return [key, member];
        // Under these a key is a name, and each value a schema again.
        return [key, move(member, !isSchema || !MAPS.has(key))];
      }),
    );
  };
  return move(schema, true) as JsonObject;
}

/** Keywords whose value maps names to schemas. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
