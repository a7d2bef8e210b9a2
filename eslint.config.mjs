import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const NO_DEFAULT_EXPORT = { selector: 'ExportDefaultDeclaration', message: 'Name what you export.' };
const HASH_PRIVATE = {
  selector: ':matches(PropertyDefinition, MethodDefinition, TSParameterProperty)[accessibility="private"]',
  message: 'Write `#name`: it is private at run time too.',
};

const BY_THE_CLOCK = 'Engine time goes by a Clock (src/clock.ts), which tests turn.';

export default defineConfig(
  globalIgnores(['**/dist/', '**/data/', '**/coverage/']),
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      'max-lines': ['error', 400],
      'no-restricted-syntax': ['error', NO_DEFAULT_EXPORT, HASH_PRIVATE],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // Contracts return promises also where an implementation has nothing to wait for.
      '@typescript-eslint/require-await': 'off',
      // Most objects here are made of closures, which need no `this`.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
    },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    ignores: ['**/*.test.ts', '**/*.suite.ts'],
    // A library logs through its logger: on stdio, stdout belongs to the protocol.
    rules: { 'no-console': 'error' },
  },
  {
    files: ['packages/errand/src/{engine,executors}/**/*.ts'],
    ignores: ['**/*.test.ts', '**/*.suite.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['setTimeout', 'setInterval', 'performance'].map((name) => ({ name, message: BY_THE_CLOCK })),
      ],
      'no-restricted-properties': ['error', { object: 'Date', property: 'now', message: BY_THE_CLOCK }],
      'no-restricted-imports': ['error', { paths: ['timers/promises', 'node:timers/promises'] }],
    },
  },
  {
    // Tests look into frames that have no type; the assertions are the check.
    files: ['**/*.test.ts', '**/*.suite.ts', 'packages/*/test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  {
    files: ['**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: { console: 'readonly', module: 'writable', process: 'readonly', require: 'readonly', URL: 'readonly' },
    },
  },
  { files: ['vitest.config.ts'], rules: { 'no-restricted-syntax': ['error', HASH_PRIVATE] } },
);
