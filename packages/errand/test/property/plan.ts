import fc from 'fast-check';

/** A handler as data, so that fast-check can make it up and cut it down. */
export type Plan =
  | { readonly kind: 'step' | 'ask'; readonly fails: boolean }
  | { readonly kind: 'sleep' | 'now' }
  | { readonly kind: 'sequence' | 'all' | 'settled' | 'race' | 'any'; readonly parts: readonly Plan[] }
  | Graph;

/** Subtasks, each of which runs after some of those before it. */
export interface Graph {
  readonly kind: 'graph';
  readonly nodes: readonly Node[];
  /** Whether those come first that run last: then edges name what is begun later. */
  readonly backwards: boolean;
  readonly join: 'all' | 'settled' | 'race' | 'any' | 'none';
}

export interface Node {
  readonly plan: Plan;
  /** Numbers of nodes, by which a place before this one is chosen. */
  readonly after: readonly number[];
  readonly onFailure: 'fail' | 'return';
  readonly onParentExit: 'wait' | 'cancel';
  /** When the handler that made it cancels it. */
  readonly cancelled: 'never' | 'at once' | 'later';
}

const rarely = fc.oneof(
  { weight: 5, arbitrary: fc.constant(false) },
  { weight: 1, arbitrary: fc.constant(true) },
) satisfies fc.Arbitrary<boolean>;

const leaf = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('step' as const), fails: rarely }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('ask' as const), fails: rarely }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('sleep' as const, 'now' as const) }) },
);

function nodeOf(plan: fc.Arbitrary<Plan>): fc.Arbitrary<Node> {
  return fc.record({
    plan,
    after: fc.array(fc.nat(199), { maxLength: 4 }),
    onFailure: fc.constantFrom('fail' as const, 'return' as const),
    onParentExit: fc.constantFrom('wait' as const, 'cancel' as const),
    cancelled: fc.oneof(
      { weight: 8, arbitrary: fc.constant('never' as const) },
      { weight: 1, arbitrary: fc.constantFrom('at once' as const, 'later' as const) },
    ),
  });
}

function graphOf(nodes: fc.Arbitrary<readonly Node[]>): fc.Arbitrary<Graph> {
  return fc.record({
    kind: fc.constant('graph' as const),
    nodes,
    backwards: fc.boolean(),
    join: fc.constantFrom('all' as const, 'settled' as const, 'race' as const, 'any' as const, 'none' as const),
  });
}

/** Handlers that nest everything in everything. */
export const { nested } = fc.letrec<{ nested: Plan }>((tie) => ({
  nested: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 3, arbitrary: leaf },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom('sequence' as const, 'all' as const, 'settled' as const, 'race' as const, 'any' as const),
        parts: fc.array(tie('nested'), { minLength: 1, maxLength: 4 }),
      }),
    },
    { weight: 4, arbitrary: graphOf(fc.array(nodeOf(tie('nested')), { minLength: 1, maxLength: 5 })) },
  ),
}));

/** One graph of many nodes that each do a little. */
export const wide: fc.Arbitrary<Graph> = graphOf(fc.array(nodeOf(leaf), { minLength: 1, maxLength: 200, size: 'max' }));

/** The places of the nodes that a node runs after. */
export function placesBefore(node: Node, place: number): readonly number[] {
  return place === 0 ? [] : [...new Set(node.after.map((number) => number % place))];
}
