import { parseArgs } from 'node:util';
import { inFolder } from './folder.ts';
import { machine } from './machine.ts';
import type { Machine } from './machine.ts';
import { machineText, targetText } from './report.ts';
import type { Target } from './targets.ts';

/** A benchmark of one thing at one size. */
export interface Benchmark {
  /** What follows `bench:` in the name of its script. */
  readonly name: string;
  /** What it does, for `--help`. */
  readonly about: string;
  /** How many tasks, unless told otherwise. */
  readonly tasks: number;
  /** May leave what it likes in `folder`. */
  measure(size: { readonly tasks: number; readonly folder: string }): Promise<Outcome>;
}

export interface Outcome {
  readonly figures: readonly Figure[];
  readonly targets: readonly Target[];
}

/** Something that was measured. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
}

/** So long a benchmark may take, in ms, before it is given up. */
const LONGEST = 60 * 60_000;

/** Runs a benchmark as its command line asks for, from its options to its report. */
export async function runBenchmark(benchmark: Benchmark): Promise<void> {
  const { tasks, json } = options(benchmark);
  const facts = machine();
  const { figures, targets } = await inFolder((folder) => inTime(benchmark.measure({ tasks, folder })));
  const report = { machine: facts, tasks, figures, targets };
  console.log(json ? JSON.stringify(report, undefined, 2) : textOf(report));
  // Connections and servers of a measurement may be left.
  process.exit();
}

function options({ name, about, tasks }: Benchmark): { readonly tasks: number; readonly json: boolean } {
  const help = `${about}

  npm run bench:${name} -- [options]

  --tasks <number>  how many (default: ${tasks})
  --json            prints the figures as JSON
  --help            shows this

What the figures mean: bench/README.md
`;
  try {
    const { values } = parseArgs({
      options: {
        tasks: { type: 'string', default: String(tasks) },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(help);
      process.exit();
    }
    const asked = Number(values.tasks);
    if (!Number.isInteger(asked) || asked < LEAST || asked > MOST)
      throw new TypeError(`--tasks is a whole number from ${LEAST} to ${MOST}, not ${JSON.stringify(values.tasks)}`);
    return { tasks: asked, json: values.json };
  } catch (error) {
    console.error(`${(error as Error).message}\n\`npm run bench:${name} -- --help\` lists the options.`);
    process.exit(1);
  }
}

/** Below, and beyond, the figures say nothing. */
const [LEAST, MOST] = [1000, 10_000_000];

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`given up after ${LONGEST / 60_000} minutes`)), LONGEST);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function textOf({ machine, tasks, figures, targets }: { machine: Machine; tasks: number } & Outcome): string {
  return [
    machineText(machine),
    `${tasks.toLocaleString('en-US')} tasks`,
    '',
    ...figures.map(({ what, value, unit }) => `${what.padEnd(58)}${rounded(value).padStart(10)} ${unit}`.trimEnd()),
    '',
    ...targets.map(targetText),
  ].join('\n');
}

function rounded(value: number): string {
  const digits = Number.isInteger(value) || value >= 1000 ? 0 : value >= 100 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
