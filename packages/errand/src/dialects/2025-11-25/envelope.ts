import type { Terms } from '../../dialect.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { inputCapabilities } from '../client-capabilities.ts';
import { invalid } from '../params.ts';

/** The revision that this folder speaks. */
export const VERSION = '2025-11-25';

/** The draft of March 2026, whose main schema had the tasks of this revision (N-7). */
export const DRAFT = 'DRAFT-2026-v1';

/** The key of `_meta` that says to which task a message belongs (L-35). */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** What a client says of itself once, by `initialize`. The version it asks for is given where it is spoken here. */
export function agree(params: JsonObject): Terms {
  const { protocolVersion } = params;
  if (typeof protocolVersion !== 'string') throw invalid('protocolVersion must be a string');
  return termsOf(params, protocolVersion === DRAFT ? DRAFT : VERSION, VERSION);
}

/** The terms of a client, whatever revision it is. */
export function termsOf({ capabilities, clientInfo }: JsonObject, version: string, revision: string): Terms {
  if (!isObject(capabilities)) throw invalid('capabilities must be an object');
  return {
    version,
    revision,
    client: clientOf(clientInfo),
    capabilities: inputCapabilities(capabilities),
    hosts: hostedKinds(capabilities),
  };
}

/** The client carries its terms in a header, so they must be short. */
const LONGEST_NAME = 100;

function clientOf(info: unknown): Terms['client'] {
  if (!isObject(info) || typeof info.name !== 'string' || typeof info.version !== 'string') {
    throw invalid('clientInfo must be an object with a name and a version');
  }
  return { name: info.name.slice(0, LONGEST_NAME), version: info.version.slice(0, LONGEST_NAME) };
}

/** Which questions the client answers by tasks of its own: those that it lists, and no others (L-2, L-3, L-53). */
function hostedKinds({ tasks }: JsonObject): Terms['hosts'] {
  const requests = isObject(tasks) && isObject(tasks.requests) ? tasks.requests : {};
  const { elicitation, sampling } = requests;
  return {
    ...(isObject(elicitation) && isObject(elicitation.create) && { elicitation: true }),
    ...(isObject(sampling) && isObject(sampling.createMessage) && { sampling: true }),
  };
}
