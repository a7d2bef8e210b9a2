import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../json.ts';
import { checkNameHeader, checkParamHeaders, paramHeadersOf } from './headers.ts';

const MISMATCH = expect.objectContaining({ code: -32020, status: 400 });
const encode = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

function checkName(value: string | undefined, named: unknown = 'task-1', method = 'tasks/get', field = 'taskId'): void {
  checkNameHeader(() => value, { jsonrpc: '2.0', id: 1, method, params: { [field]: named } as JsonObject });
}

describe('Mcp-Name', () => {
  it.each([
    ['tools/call', 'name'],
    ['prompts/get', 'name'],
    ['resources/read', 'uri'],
    ['tasks/get', 'taskId'],
    ['tasks/update', 'taskId'],
    ['tasks/cancel', 'taskId'],
  ])('of %s must repeat params.%s (E-15)', (method, field) => {
    checkName('x', 'x', method, field);
    expect(() => checkName('y', 'x', method, field)).toThrow(MISMATCH);
    expect(() => checkName('X', 'x', method, field)).toThrow(MISMATCH);
    expect(() => checkName('x, x', 'x', method, field)).toThrow(MISMATCH);
    expect(() => checkName(undefined, 'x', method, field)).toThrow(MISMATCH);
  });

  it('is not asked of other methods', () => {
    checkName(undefined, 'x', 'tasks/result');
    checkName('anything', 'x', 'tools/list');
  });

  it('is not asked of a body that names nothing: that body fails for itself', () => {
    checkName(undefined, null);
    checkName('x', 7);
  });

  it('may be base64 between =?base64? and ?=', () => {
    checkName(encode('prüfen'), 'prüfen');
    checkName(encode(''), '');
    checkName(encode('=?base64?eA==?='), '=?base64?eA==?=');
    expect(() => checkName(encode('other'), 'prüfen')).toThrow(MISMATCH);
  });

  it('is itself where it is only half wrapped', () => {
    checkName('=?base64?eA==', '=?base64?eA==');
    checkName('eA==?=', 'eA==?=');
  });

  it.each(['eA', 'eA=', 'eB==', 'e A==', 'eA==\n', 'eA-_', '/w==', '7aCA'])(
    'refuses base64 that is not canonical or not UTF-8: %j',
    (encoded) => {
      for (const named of ['x', `=?base64?${encoded}?=`])
        expect(() => checkName(`=?base64?${encoded}?=`, named)).toThrow(MISMATCH);
    },
  );
});

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
    at: { type: 'object', properties: { zone: { type: 'string', 'x-mcp-header': 'Zone' } } },
    plain: { type: 'string' },
  },
};

function checkParams(args: JsonObject, headers: Record<string, string>): void {
  checkParamHeaders(paramHeadersOf(SCHEMA), args, (name) => headers[name]);
}

describe('Mcp-Param', () => {
  it('is declared by strings, integers and booleans that properties alone lead to', () => {
    expect(paramHeadersOf(SCHEMA).map(({ name, path }) => [name, path.join('.')])).toEqual([
      ['Region', 'region'],
      ['Count', 'count'],
      ['Dry', 'dry'],
      ['Zone', 'at.zone'],
    ]);
  });

  it('is not declared by anything else', () => {
    const mark = { 'x-mcp-header': 'X' };
    const properties: JsonObject = {
      number: { type: 'number', ...mark },
      object: { type: 'object', ...mark },
      untyped: mark,
      list: { type: 'array', items: { type: 'string', ...mark } },
      either: { anyOf: [{ type: 'string', ...mark }] },
      badName: { type: 'string', 'x-mcp-header': 'a b' },
      noName: { type: 'string', 'x-mcp-header': '' },
    };
    expect(paramHeadersOf({ type: 'object', ...mark, properties })).toEqual([]);
  });

  it('is declared once, whatever the case', () => {
    const twice = paramHeadersOf({
      type: 'object',
      properties: { a: { type: 'string', 'x-mcp-header': 'Id' }, b: { type: 'string', 'x-mcp-header': 'iD' } },
    });
    expect(twice.map(({ path }) => path)).toEqual([['a']]);
  });

  it('must repeat an argument that is there', () => {
    checkParams(
      { region: 'eu', dry: true, at: { zone: 'a' } },
      { 'mcp-param-region': 'eu', 'mcp-param-dry': 'true', 'mcp-param-zone': 'a' },
    );
    expect(() => checkParams({ region: 'eu' }, {})).toThrow(MISMATCH);
    expect(() => checkParams({ region: 'eu' }, { 'mcp-param-region': 'us' })).toThrow(MISMATCH);
    expect(() => checkParams({ dry: false }, { 'mcp-param-dry': 'False' })).toThrow(MISMATCH);
    expect(() => checkParams({ at: { zone: 'a' } }, { 'mcp-param-zone': 'b' })).toThrow(MISMATCH);
  });

  it('compares integers as numbers', () => {
    checkParams({ count: 42 }, { 'mcp-param-count': '42.0' });
    expect(() => checkParams({ count: 42 }, { 'mcp-param-count': '43' })).toThrow(MISMATCH);
    expect(() => checkParams({ count: 42 }, { 'mcp-param-count': '0x2a' })).toThrow(MISMATCH);
  });

  it('is ignored where the argument is null or absent', () => {
    checkParams({ region: null }, { 'mcp-param-region': 'eu' });
    checkParams({}, { 'mcp-param-region': 'eu' });
  });

  it('may be base64, and must then be canonical', () => {
    checkParams({ region: 'Zürich' }, { 'mcp-param-region': encode('Zürich') });
    expect(() => checkParams({ region: 'x' }, { 'mcp-param-region': '=?base64?eA?=' })).toThrow(MISMATCH);
  });

  it('does not look for arguments among what every object inherits', () => {
    const declared = paramHeadersOf({
      type: 'object',
      properties: { constructor: { type: 'string', 'x-mcp-header': 'C' } },
    });
    expect(() => checkParamHeaders(declared, {}, () => undefined)).not.toThrow();
  });
});
