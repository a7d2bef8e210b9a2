import { describe, vi } from 'vitest';
import type { Disk } from './suite/bed.suite.ts';
import { callSuite } from './suite/calls.suite.ts';
import { chaosSuite } from './suite/chaos.suite.ts';
import { cleanUpSuite } from './suite/clean-up.suite.ts';
import { clockSuite } from './suite/clocks.suite.ts';
import { endingSuite } from './suite/ending.suite.ts';
import { graphSuite } from './suite/graphs.suite.ts';
import { inputSuite } from './suite/inputs.suite.ts';
import { limitSuite } from './suite/limits.suite.ts';
import { parkingSuite } from './suite/parking.suite.ts';
import { pauseSuite } from './suite/pauses.suite.ts';
import { progressSuite } from './suite/progress.suite.ts';
import { questionSuite } from './suite/questions.suite.ts';
import { recoverySuite } from './suite/recovery.suite.ts';
import { retrySuite } from './suite/retries.suite.ts';
import { roundSuite } from './suite/rounds.suite.ts';
import { steeringSuite } from './suite/steering.suite.ts';
import { subtaskSuite } from './suite/subtasks.suite.ts';
import { stepSuite } from './suite/steps.suite.ts';

// Most of these tests wait most of the time.
vi.setConfig({ maxConcurrency: 16 });

/** What every executor must do, over what is kept where `openDisk` says. Each test opens a disk of its own. */
export function executorSuite(name: string, openDisk: () => Disk): void {
  describe.concurrent(name, { timeout: 30_000 }, () => {
    stepSuite(openDisk);
    inputSuite(openDisk);
    progressSuite(openDisk);
    questionSuite(openDisk);
    parkingSuite(openDisk);
    pauseSuite(openDisk);
    retrySuite(openDisk);
    steeringSuite(openDisk);
    recoverySuite(openDisk);
    endingSuite(openDisk);
    callSuite(openDisk);
    roundSuite(openDisk);
    subtaskSuite(openDisk);
    graphSuite(openDisk);
    limitSuite(openDisk);
    cleanUpSuite(openDisk);
    clockSuite(openDisk);
    chaosSuite(openDisk);
  });
}
