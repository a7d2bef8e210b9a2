import { onTestFinished } from 'vitest';
import { testErrand, type Define, type TestErrand, type TestErrandOptions } from './test-errand.ts';

/** Starts an errand that ends with the test. */
export async function up(define: Define, options: TestErrandOptions): Promise<TestErrand> {
  const t = await testErrand(options, define);
  onTestFinished(() => t.close());
  return t;
}

/** How a task reads that came to a text. */
export const text = (words: string) => ({ status: 'completed', result: { content: [{ type: 'text', text: words }] } });
