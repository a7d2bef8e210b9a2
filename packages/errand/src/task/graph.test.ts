import { describe, expect, it } from 'vitest';
import { Graph } from './graph.ts';

function graphOf(edges: Record<string, readonly string[]>): Graph {
  const graph = new Graph();
  for (const [key, after] of Object.entries(edges)) graph.add(key, after);
  return graph;
}

describe('a graph of subtasks', () => {
  it('lets run what runs after nothing, and then what runs after what has ended', () => {
    const graph = graphOf({ a: [], b: ['a'], c: ['a', 'b'] });
    expect(['a', 'b', 'c'].map((key) => graph.readinessOf(key))).toEqual(['ready', 'blocked', 'blocked']);
    expect(graph.end('a', true)).toEqual(['b', 'c']);
    expect(['b', 'c'].map((key) => graph.readinessOf(key))).toEqual(['ready', 'blocked']);
    expect(graph.end('b', true)).toEqual(['c']);
    expect(graph.readinessOf('c')).toBe('ready');
  });

  it('dooms what runs after a failure, whatever else it waits for', () => {
    const graph = graphOf({ a: [], b: [], c: ['a', 'b'] });
    graph.end('a', false);
    expect(graph.readinessOf('c')).toBe('doomed');
  });

  it('takes edges to keys that come later, and names those that never came', () => {
    const graph = graphOf({ last: ['first', 'never'] });
    expect(graph.missing).toEqual({ key: 'last', after: 'first' });
    graph.add('first', []);
    expect(graph.missing).toEqual({ key: 'last', after: 'never' });
    graph.end('first', true);
    expect(graph.readinessOf('last')).toBe('blocked');
    graph.add('never', []);
    expect(graph.missing).toBeUndefined();
  });

  it.each<[string, Record<string, readonly string[]>, string, readonly string[], string]>([
    ['to itself', {}, 'a', ['a'], '"a" after "a"'],
    ['of two', { a: ['b'] }, 'b', ['a'], '"b" after "a" after "b"'],
    [
      'of three, past other edges',
      { x: [], a: ['x', 'c'], b: ['x', 'a'] },
      'c',
      ['x', 'b'],
      '"c" after "b" after "a" after "c"',
    ],
  ])('refuses the edge that closes a cycle %s, and names it', (_, edges, key, after, named) => {
    const graph = graphOf(edges);
    expect(() => graph.add(key, after)).toThrow(new TypeError(`subtask "${key}" would close a cycle: ${named}`));
  });

  it('takes a diamond, which is no cycle', () => {
    expect(() => graphOf({ join: ['left', 'right'], left: ['top'], right: ['top'], top: [] })).not.toThrow();
  });

  it('refuses a key twice', () => {
    expect(() => graphOf({ a: [] }).add('a', [])).toThrow('there is a subtask "a" already');
  });

  it('costs the same for each of many keys', () => {
    const graph = new Graph();
    const began = performance.now();
    for (let n = 0; n < 20_000; n++) graph.add(`k${n}`, n === 0 ? [] : [`k${n - 1}`]);
    expect(performance.now() - began).toBeLessThan(1000);
  });
});
