import type { Reporter, TestModule } from 'vitest/node';

/**
 * Prints `N passed, N failed` on a line of its own after a run. A file that could not be loaded and an
 * error outside of any test count as failures: a run that tested nothing must not look green.
 */
export class Totals implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const broken = modules.filter((module) => module.errors().length > 0).length;
    const passed = states.filter((state) => state === 'passed').length;
    const failed = states.filter((state) => state === 'failed').length + broken + unhandled.length;
    process.stdout.write(`${passed} passed, ${failed} failed\n`);
  }
}
