import type { HeaderReader } from '../../dialect.ts';
import { ErrandError } from '../../errors.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import type { JsonRpcRequest } from '../../jsonrpc.ts';

/** Where `Mcp-Name` must repeat something of the body: what, by method (E-15 for the tasks). */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** `MCP-Protocol-Version` must say what the envelope says. */
export function checkVersionHeader(header: HeaderReader, version: string): void {
  const value = header('mcp-protocol-version');
  if (value === undefined) throw mismatch('the MCP-Protocol-Version header is missing');
  if (value !== version) throw mismatch('the MCP-Protocol-Version header differs from the version in _meta');
}

/** `Mcp-Method` must say what the body says, in the same case. */
export function checkMethodHeader(header: HeaderReader, method: string): void {
  const value = header('mcp-method');
  if (value === undefined) throw mismatch('the Mcp-Method header is missing');
  if (value !== method) throw mismatch('the Mcp-Method header differs from the method');
}

/** `Mcp-Name` must say which tool, prompt, resource or task the body names. A body that names none fails later. */
export function checkNameHeader(header: HeaderReader, { method, params }: JsonRpcRequest): void {
  const field = NAMED.get(method);
  if (field === undefined) return;
  const named = params?.[field];
  if (typeof named !== 'string') return;
  const value = header('mcp-name');
  if (value === undefined) throw mismatch('the Mcp-Name header is missing');
  if (decodeHeader(value, 'Mcp-Name') !== named) throw mismatch(`the Mcp-Name header differs from params.${field}`);
}

/** An argument that clients repeat in a header, so that whoever routes by it need not read the body. */
export interface ParamHeader {
  /** As the tool wrote it: what follows `Mcp-Param-`. */
  readonly name: string;
  /** Where the argument is. */
  readonly path: readonly string[];
  readonly integer: boolean;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * The arguments that an input schema marks with `x-mcp-header`: strings, integers and booleans
 * under `properties` only. Marks anywhere else mean nothing, as does a second one of the same name.
 */
export function paramHeadersOf(inputSchema: JsonObject): readonly ParamHeader[] {
  const found = new Map<string, ParamHeader>();
  const visit = (schema: unknown, path: readonly string[]): void => {
    if (!isObject(schema)) return;
    const { type, properties, 'x-mcp-header': name } = schema;
    if (path.length > 0 && typeof name === 'string' && TOKEN.test(name) && !found.has(name.toLowerCase())) {
      if (type === 'string' || type === 'integer' || type === 'boolean') {
        found.set(name.toLowerCase(), { name, path, integer: type === 'integer' });
      }
    }
    if (isObject(properties)) for (const [key, child] of Object.entries(properties)) visit(child, [...path, key]);
  };
  visit(inputSchema, []);
  return [...found.values()];
}

/** An argument that is there must be repeated in its header; the header of one that is not is ignored. */
export function checkParamHeaders(declared: readonly ParamHeader[], args: JsonObject, header: HeaderReader): void {
  for (const { name, path, integer } of declared) {
    const value = valueAt(args, path);
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') continue;
    const label = `Mcp-Param-${name}`;
    const raw = header(label.toLowerCase());
    if (raw === undefined) throw mismatch(`the ${label} header is missing`);
    const text = decodeHeader(raw, label);
    const same =
      integer && typeof value === 'number' && /^-?\d+(\.\d+)?$/.test(text)
        ? Number(text) === value
        : text === String(value);
    if (!same) throw mismatch(`the ${label} header differs from the argument ${path.join('.')}`);
  }
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

const OPENING = '=?base64?';
const CLOSING = '?=';

/** The text that a header carries: itself, or base64 of UTF-8 between `=?base64?` and `?=`, written in the one canonical way. */
function decodeHeader(value: string, label: string): string {
  if (!value.startsWith(OPENING) || !value.endsWith(CLOSING)) return value;
  const encoded = value.slice(OPENING.length, -CLOSING.length);
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString('utf8');
  // Decoding forgives what is not canonical, or not UTF-8; what it made of it does not encode back.
  if (bytes.toString('base64') !== encoded || !Buffer.from(text, 'utf8').equals(bytes))
    throw mismatch(`the ${label} header is not valid base64 of UTF-8`);
  return text;
}

function mismatch(what: string): ErrandError {
  return new ErrandError('headerMismatch', `Header mismatch: ${what}`);
}
