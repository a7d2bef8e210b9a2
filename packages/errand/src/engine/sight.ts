import type { Clock } from '../clock.ts';
import type { Store } from '../store.ts';
import type { Task } from '../task/task.ts';
import { mayAskBelow, openQuestions } from './below.ts';
import { coalesce } from './coalesce.ts';
import type { SeenTask } from './engine.ts';
import type { Watch } from './watching.ts';

/** So many descendants that wait are shown at once; the others are when these have their answers. */
const SHOWN = 1000;

/** Tasks as clients see them. */
export interface Sight {
  /** A task as it is, with what waits below it. Costs nothing more where it has no subtasks. */
  of(task: Task): SeenTask | Promise<SeenTask>;
  /** Calls `listener` when what can be seen of a task has changed, with its latest state. Returns how to stop. */
  watch(taskId: string, listener: (task: SeenTask) => void): () => void;
}

export function createSight(store: Store, watch: Watch, clock: Clock): Sight {
  const below = async (root: string): Promise<readonly Task[]> => (await store.asking(root)).slice(0, SHOWN);

  return {
    of: (task) => (mayAskBelow(task) ? below(task.id).then((below) => ({ ...task, below })) : task),

    watch(taskId, listener) {
      let task: Task | undefined;
      /** What waits below it, once that was asked for. */
      let waiting: readonly Task[] | undefined;
      let seen: string | undefined;
      let stopped = false;

      function show(latest: SeenTask): void {
        // A commit may change what only a run sees.
        const visible = visiblePart(latest);
        if (visible === seen) return;
        seen = visible;
        listener(latest);
      }

      const look = coalesce(clock, async () => {
        await Promise.resolve(); // a commit tells of many at once
        if (stopped) return;
        const read = task ?? (await store.read(taskId));
        const found = read && mayAskBelow(read) ? await below(taskId) : undefined;
        if (stopped || found === undefined) return;
        waiting = found;
        task ??= read!;
        if (mayAskBelow(task)) show({ ...task, below: found });
      });

      const unwatch = watch(
        taskId,
        (latest) => {
          task = latest;
          if (!mayAskBelow(latest)) show(latest);
          else if (waiting === undefined) look();
          else show({ ...latest, below: waiting });
        },
        (descendant) => {
          const isNews =
            descendant === undefined ||
            waiting === undefined ||
            descendant.status === 'input_required' ||
            waiting.some(({ id }) => id === descendant.id);
          if (isNews && (task === undefined || mayAskBelow(task))) look();
        },
      );
      return () => {
        stopped = true;
        unwatch();
      };
    },
  };
}

/** What a client could see of a task, as a text to compare; questions and outcomes do not change once they are there. */
function visiblePart(task: SeenTask): string {
  const { status, statusMessage, progress, inputs, lastUpdatedAt } = task;
  const states = Object.entries(inputs).map(([key, input]) => [key, input.state]);
  const below = task.below && Object.keys(openQuestions(task));
  return JSON.stringify([status, statusMessage, progress, states, lastUpdatedAt, below]);
}
