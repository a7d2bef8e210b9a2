// What is asked of the suite. Scenarios of the tasks extension are never gated by `--requirements`, and with
// `--spec-version` they are skipped with exit code 0: each therefore runs on its own.

/** `tasks-status-notifications` is not among them: the suite has it, and always skips it. */
const TASKS = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
];

const ROUNDS = [
  'basic-elicitation',
  'basic-sampling',
  'basic-list-roots',
  'request-state',
  'multiple-input-requests',
  'multi-round',
  'missing-input-response',
  'non-tool-request',
  'result-type',
  'unsupported-methods',
  'tampered-state',
  'capability-check',
  'ignore-extra-params',
  'validate-input',
].map((name) => `input-required-result-${name}`);

/** In the suite, but not yet scored for any revision. */
const PENDING = ['http-header-validation', 'http-custom-header-server-validation', 'json-schema-2020-12'];

export const REVISION = '2026-07-28';

/** The revisions of which all is run that the suite requires. */
export const REQUIRED = [REVISION, '2025-11-25'];

/** One run a scenario, under the arguments that make the suite speak our revision. */
export const SCENARIO_RUNS = [
  ...TASKS.map((scenario) => ({ scenario, args: ['--scenario', scenario] })),
  ...[...ROUNDS, ...PENDING].map((scenario) => ({
    scenario,
    args: ['--scenario', scenario, '--spec-version', REVISION],
  })),
];
