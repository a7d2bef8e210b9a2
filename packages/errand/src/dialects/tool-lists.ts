import type { Served } from '../dialect.ts';
import { isObject } from '../json.ts';
import type { JsonObject, JsonValue } from '../json.ts';

/** The tools on a page of the backend's list. One of ours hides one of theirs that has the same name, on whatever page that is. */
export function theirTools({ engine }: Pick<Served, 'engine'>, { tools }: JsonObject): JsonValue[] {
  return (Array.isArray(tools) ? tools : []).filter(
    (tool) => !isObject(tool) || typeof tool.name !== 'string' || !engine.hasTool(tool.name),
  );
}
