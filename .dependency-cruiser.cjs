// The arrows of DESIGN.md, "Layout": inner code never imports outer code. One row a room: what it may import.
const SRC = 'packages/errand/src';
const LEAVES = ['json.ts', 'jsonrpc.ts', 'duration.ts', 'errors.ts', 'traceparent.ts'];
const CONTRACTS = ['store.ts', 'executor.ts', 'telemetry.ts'];
const DOMAIN = [...LEAVES, 'clock.ts', 'task/', ...CONTRACTS, 'seal.ts', 'schema.ts', 'limits.ts', 'options.ts'];
const MAY_IMPORT = {
  'json.ts': [],
  'jsonrpc.ts': ['json.ts', 'errors.ts'],
  'duration.ts': ['json.ts'],
  'errors.ts': ['json.ts'],
  'clock.ts': [],
  'traceparent.ts': [],
  'task/': ['json.ts', 'task/'],
  'store.ts': ['json.ts', 'task/'],
  'executor.ts': ['json.ts', 'task/'],
  'telemetry.ts': ['json.ts', 'traceparent.ts', 'task/'],
  'seal.ts': LEAVES,
  'schema.ts': LEAVES,
  'limits.ts': LEAVES,
  'options.ts': LEAVES,
  'engine/': [...DOMAIN, 'engine/'],
  'stores/': [...DOMAIN, 'stores/'],
  'executors/': [...DOMAIN, 'engine/', 'executors/'],
  'dialect.ts': [...DOMAIN, 'engine/'],
  'dialects/': [...DOMAIN, 'engine/', 'dialect.ts', 'dialects/'],
  'serve/': [...DOMAIN, 'engine/', 'dialect.ts', 'dialects/', 'serve/'],
  'telemetry/': [...DOMAIN, 'engine/', 'telemetry/'],
  'errand.ts': [...DOMAIN, 'engine/', 'stores/', 'executors/', 'dialect.ts', 'dialects/', 'serve/', 'telemetry/'],
  'testing/': [...DOMAIN, 'engine/', 'stores/', 'errand.ts', 'testing/'],
};

// What users import; nothing inside does.
const ENTRIES = ['index.ts', 'testing.ts'];
const TESTS = '\\.(test|suite)\\.ts$';
const escape = (path) => path.replaceAll('.', '\\.');
const any = (paths) => paths.map((path) => `^${escape(`${SRC}/${path}`)}${path.endsWith('/') ? '' : '$'}`);

const arrows = Object.entries(MAY_IMPORT).map(([room, inner]) => ({
  name: `arrow: ${room}`,
  comment: `${room} may import ${inner.join(', ') || 'nothing of ours'}`,
  severity: 'error',
  from: { path: any([room]), pathNot: TESTS },
  to: { path: `^${SRC}/`, pathNot: any(inner.length > 0 ? inner : ['nothing of ours']) },
}));

module.exports = {
  forbidden: [
    ...arrows,
    {
      name: 'room-without-row',
      comment: 'A new room needs a row in MAY_IMPORT that says what it may import.',
      severity: 'error',
      from: { path: `^${SRC}/`, pathNot: [TESTS, ...any([...Object.keys(MAY_IMPORT), ...ENTRIES])] },
      to: {},
    },
    {
      name: 'no-circle',
      comment: 'Two files that import each other are one file, or have the wrong seam between them.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'not-resolvable',
      comment: 'What is imported must exist, and be a dependency of the package that imports it.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-test-code',
      comment: 'What is published never imports a test.',
      severity: 'error',
      from: { path: `^${SRC}/`, pathNot: TESTS },
      to: { path: [TESTS, '^packages/errand/test/'] },
    },
    {
      name: 'no-dev-dependency',
      comment: 'What is published may load at run time only what its package.json lists for its users.',
      severity: 'error',
      from: { path: `^${SRC}/`, pathNot: TESTS },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer', 'npm-optional'] },
    },
    {
      name: 'examples-are-users',
      comment: 'Examples and benchmarks import the library as its users do.',
      severity: 'error',
      from: { path: '^(examples|bench)/' },
      to: { path: `^${SRC}/` },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '(^|/)dist/'] },
    exclude: { path: ['(^|/)dist/', '(^|/)data/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.check.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'default'],
      extensions: ['.ts', '.mjs', '.js'],
    },
  },
};
