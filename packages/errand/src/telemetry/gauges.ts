import type { BatchObservableCallback, Observable } from '@opentelemetry/api';
import type { Executor } from '../executor.ts';
import type { LiveCounts, Store } from '../store.ts';
import { TASK_STATUS } from './attributes.ts';
import { createCensus } from './census.ts';
import type { Instruments } from './instruments.ts';

/**
 * Lets whoever collects measurements ask what there is now. Of several processes on one store, the one that runs the
 * tasks answers, so that nothing is counted twice. Returns how to stop.
 */
export function observe({ meter }: Instruments, store: Store, executor: Executor): () => void {
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(name, { description, unit });
  const live = gauge('errand.tasks.live', '{task}', 'Tasks that have not ended, by status');
  const parked = gauge('errand.tasks.parked', '{task}', 'Tasks that have not ended, of which nothing is in memory');
  const active = gauge('errand.runs.active', '{run}', 'Runs in memory, also those that wait');
  const queued = gauge('errand.runs.queued', '{run}', 'Runs that wait for a slot');
  const all: Observable[] = [live, parked, active, queued];
  const census = createCensus(store);

  const tell: BatchObservableCallback = async (result) => {
    const load = executor.load;
    if (load === undefined) return;
    result.observe(active, load.active);
    result.observe(queued, load.queued);
    const counts = await census();
    if (counts === undefined) return;
    for (const status of STATUSES) result.observe(live, counts[status], { [TASK_STATUS]: status });
    result.observe(parked, Math.max(0, counts.working + counts.input_required - load.tasks));
  };
  meter.addBatchObservableCallback(tell, all);
  return () => meter.removeBatchObservableCallback(tell, all);
}

const STATUSES: readonly (keyof LiveCounts)[] = ['working', 'input_required'];
