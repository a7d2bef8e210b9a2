import { cancelling } from '../../engine/ending.ts';
import type { Registry } from '../../engine/registry.ts';
import type { Kin } from '../../engine/run.ts';
import type { Watch } from '../../engine/watching.ts';
import type { Store } from '../../store.ts';
import { unblock } from '../../task/transitions.ts';

/** What a run may do with other tasks. */
export function kinOf(store: Store, watch: Watch, tools: Registry): Kin {
  return {
    tool: (name) => tools.get(name),
    newId: () => store.newId(),
    read: (id) => store.read(id),
    watch,
    unblock: (id) =>
      store.change(id, (task) => {
        const next = unblock(task, store.now());
        return next === task ? undefined : { task: next };
      }),
    cancel: (id) => store.changeTree(id, (task) => cancelling(task, store.now())),
  };
}
