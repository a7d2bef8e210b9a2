import { defineConfig } from 'vitest/config';
import { Totals } from './scripts/totals.ts';

export default defineConfig({
  test: {
    include: ['packages/**/src/**/*.test.ts', 'packages/**/test/**/*.test.ts', 'examples/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    // Most tests wait, for time or for another process; by default one of two cores would stay idle.
    maxWorkers: '100%',
    // The totals come last: that line is what CI reads.
    reporters: ['default', new Totals()],
  },
});
