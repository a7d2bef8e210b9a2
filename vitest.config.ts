import { defineConfig } from 'vitest/config';
import { Totals } from './scripts/totals.ts';

export default defineConfig({
  test: {
    include: ['packages/**/src/**/*.test.ts', 'packages/**/test/**/*.test.ts', 'examples/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    // The totals come last: that line is what CI reads.
    reporters: ['default', new Totals()],
  },
});
