import type { Cores, Machine } from './machine.ts';
import type { Measured } from './measured.ts';
import type { Options } from './options.ts';
import type { Target } from './targets.ts';

export interface Report {
  readonly machine: Machine;
  /** `undefined` where processes could not be kept on cores of their own. */
  readonly cores: Cores | undefined;
  readonly connections: number;
  readonly options: Pick<Options, 'rounds' | 'seconds'>;
  readonly measured: readonly Measured[];
  readonly targets: readonly Target[];
}

const COLUMNS: readonly [title: string, below: string, width: number][] = [
  ['', '', 34],
  ['req/op', 'best', 8],
  ['op/s', 'best (median)', 16],
  [': a', 'best', 7],
  ['CPU µs/op', 'least (median)', 16],
  [': a', 'least', 8],
  ['busy', 'best', 8],
  ['p50', 'ms', 8],
  ['p95', 'best', 8],
  ['p99', 'round', 8],
];

/** The report as text of about 120 columns. */
export function textOf({ machine, cores, connections, options, measured, targets }: Report): string {
  const lines = [
    machineText(machine),
    `${connections} connections, ${options.rounds} rounds of ${options.seconds} s in turn; ${pinning(cores)}`,
    '',
    row(COLUMNS.map(([title]) => title)),
    row(COLUMNS.map(([, below]) => below)),
    ...measured.map((one) =>
      row(
        cells(
          one,
          measured.find(({ subject }) => subject.key === 'a'),
        ),
      ),
    ),
    '',
    ...targets.map(targetText),
  ];
  return lines.join('\n');
}

/** On which machine something was measured, in a line. */
export function machineText({ cpu, cores, memoryGiB, system, node, loadAverage, date }: Machine): string {
  return `${date}Z, ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node ${node}, load average ${loadAverage.toFixed(1)}`;
}

/** What came of a target, in a line. */
export function targetText({ what, figure, reached }: Target): string {
  return `${what.padEnd(58)}${figure.padStart(12)}  ${reached ? 'reached' : 'NOT REACHED'}`;
}

function pinning(cores: Cores | undefined): string {
  if (cores) return `servers on core ${cores.servers}, load on core ${cores.load}`;
  return 'NOT pinned to cores, as there is no `taskset` or only one core: servers and load disturb each other';
}

function cells({ subject, best, median, leastCpu }: Measured, bare: Measured | undefined): string[] {
  return [
    `${subject.key}  ${subject.name}`,
    best.requests.toFixed(1),
    `${best.perSecond.toFixed(0)} (${median.perSecond.toFixed(0)})`,
    bare ? (best.perSecond / bare.best.perSecond).toFixed(2) : '',
    `${leastCpu.toFixed(0)} (${median.cpuMicros.toFixed(0)})`,
    bare ? (leastCpu / bare.leastCpu).toFixed(2) : '',
    `${(best.busy * 100).toFixed(0)} %`,
    ...[best.p50, best.p95, best.p99].map((ms) => ms.toFixed(2)),
  ];
}

function row(texts: readonly string[]): string {
  return texts.map((text, i) => (i === 0 ? text.padEnd(COLUMNS[i]![2]) : text.padStart(COLUMNS[i]![2]))).join('');
}
