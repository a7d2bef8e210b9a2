import type { Subject } from './subject.ts';
import { completion, completionFlatOut, durableCycle, tasksGet } from './subjects/durable.ts';
import { bareEcho, sdkEcho } from './subjects/echoes.ts';
import { sessionCycle } from './subjects/session-cycle.ts';

/** All that is compared, by letter. */
export const SUBJECTS: readonly Subject[] = [
  bareEcho,
  sdkEcho,
  sessionCycle,
  durableCycle,
  tasksGet,
  completion,
  completionFlatOut,
];
