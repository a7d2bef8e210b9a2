import type { Clock } from '../clock.ts';
import type { Store } from '../store.ts';
import type { Task } from '../task/task.ts';
import { mayAskBelow, openQuestions } from './below.ts';
import { coalesce } from './coalesce.ts';
import type { SeenTask } from './engine.ts';
import type { Watch } from './watching.ts';

/** So many descendants that wait are shown at once; the others are when these have their answers. */
const WAITING = 1000;

/** So many subtasks are named; a graph shows more. */
const CHILDREN = 100;

/** Tasks as clients see them that know of subtasks, or do not. */
export interface Sight {
  /** A task as it is, with what goes with it. Costs nothing more where it has no subtasks. */
  of(task: Task, knowsSubtasks: boolean): SeenTask | Promise<SeenTask>;
  /** Calls `listener` when what can be seen of a task has changed, with its latest state. Returns how to stop. */
  watch(taskId: string, listener: (task: SeenTask) => void, knowsSubtasks: boolean): () => void;
}

/** What goes with a task that is shown to a client. */
type Company = Pick<SeenTask, 'below' | 'children'>;

export function createSight(store: Store, watch: Watch, clock: Clock): Sight {
  const hasCompany = (task: Task, knowsSubtasks: boolean): boolean =>
    knowsSubtasks ? task.subtasks !== undefined : mayAskBelow(task);

  const companyOf = async (taskId: string, knowsSubtasks: boolean): Promise<Company> =>
    knowsSubtasks
      ? { children: (await store.subtasks(taskId, CHILDREN)).map(({ id }) => id) }
      : { below: (await store.asking(taskId)).slice(0, WAITING) };

  return {
    of: (task, knowsSubtasks) =>
      hasCompany(task, knowsSubtasks)
        ? companyOf(task.id, knowsSubtasks).then((company) => ({ ...task, ...company }))
        : task,

    watch(taskId, listener, knowsSubtasks) {
      let task: Task | undefined;
      /** What goes with it, once that was asked for. */
      let company: Company | undefined;
      let seen: string | undefined;
      let stopped = false;

      function show(latest: SeenTask): void {
        // A commit may change what only a run sees.
        const visible = visiblePart(latest);
        if (visible === seen) return;
        seen = visible;
        listener(latest);
      }

      /** Whether all is known that goes with a task: subtasks are only ever added. */
      function knows({ subtasks = 0 }: Task): boolean {
        const { children } = company ?? {};
        return company !== undefined && (children === undefined || children.length === Math.min(subtasks, CHILDREN));
      }

      const look = coalesce(clock, async () => {
        await Promise.resolve(); // a commit tells of many at once
        if (stopped) return;
        const read = task ?? (await store.read(taskId));
        const found = read && hasCompany(read, knowsSubtasks) ? await companyOf(taskId, knowsSubtasks) : undefined;
        if (stopped || found === undefined) return;
        company = found;
        task ??= read!;
        if (hasCompany(task, knowsSubtasks)) show({ ...task, ...found });
      });

      const unwatch = watch(
        taskId,
        (latest) => {
          task = latest;
          if (!hasCompany(latest, knowsSubtasks)) show(latest);
          else if (knows(latest)) show({ ...latest, ...company });
          else look();
        },
        knowsSubtasks
          ? undefined
          : (descendant) => {
              const waiting = company?.below;
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
  const { status, statusMessage, progress, inputs, lastUpdatedAt, children } = task;
  const states = Object.entries(inputs).map(([key, input]) => [key, input.state]);
  const below = task.below && Object.keys(openQuestions(task));
  return JSON.stringify([status, statusMessage, progress, states, lastUpdatedAt, below, children?.length]);
}
