import type { JsonObject } from '../../json.ts';
import type { InputRequest } from '../../task/input.ts';

/** A question as a model reads it. */
export interface PlainQuestion {
  /** What is asked, in words. */
  readonly message: string;
  /** How to answer, in words. */
  readonly how: string;
  /** What an answer looks like: a JSON Schema of what `tasks/update` would take. */
  readonly answer: JsonObject;
}

/** A question in words, for whoever cannot be asked by the protocol. */
export function plainQuestion({ method, params }: InputRequest): PlainQuestion {
  switch (method) {
    case 'elicitation/create':
      return params['mode'] === 'url' ? page(params) : form(params);
    case 'sampling/createMessage':
      return {
        message: `What does a model answer to ${JSON.stringify(params)}?`,
        how: 'with {"role":"assistant","content":{"type":"text","text":...},"model":...}',
        answer: SAMPLED,
      };
    case 'roots/list':
      return {
        message: 'Which folders may be worked on?',
        how: 'with {"roots":[{"uri":"file:///..."}]}',
        answer: ROOTS,
      };
  }
}

function form({ message, requestedSchema }: JsonObject): PlainQuestion {
  return {
    message: message as string,
    how: `with {"action":"accept","content":C}, where C fits ${JSON.stringify(requestedSchema)}, or {"action":"decline"}`,
    answer: { anyOf: [accepted({ content: requestedSchema! }), REFUSED] },
  };
}

function page({ message, url }: JsonObject): PlainQuestion {
  return {
    message: `${message as string} The page to visit: ${url as string}`,
    how: 'with {"action":"accept"} once they visit it, or {"action":"decline"}',
    answer: { anyOf: [accepted({}), REFUSED] },
  };
}

function accepted(more: JsonObject): JsonObject {
  return {
    type: 'object',
    properties: { action: { const: 'accept' }, ...more },
    required: ['action', ...Object.keys(more)],
  };
}

const REFUSED: JsonObject = {
  type: 'object',
  properties: { action: { enum: ['decline', 'cancel'] } },
  required: ['action'],
};

const SAMPLED: JsonObject = {
  type: 'object',
  properties: {
    role: { enum: ['assistant', 'user'] },
    content: { type: ['object', 'array'] },
    model: { type: 'string' },
  },
  required: ['role', 'content', 'model'],
};

const ROOTS: JsonObject = {
  type: 'object',
  properties: {
    roots: {
      type: 'array',
      items: { type: 'object', properties: { uri: { type: 'string' }, name: { type: 'string' } }, required: ['uri'] },
    },
  },
  required: ['roots'],
};
