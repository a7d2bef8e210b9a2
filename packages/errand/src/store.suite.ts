import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Store, StoreOptions } from './store.ts';
import { commands } from './stores/suite/commands.suite.ts';
import { events } from './stores/suite/events.suite.ts';
import { graph } from './stores/suite/graph.suite.ts';
import { ids } from './stores/suite/ids.suite.ts';
import { journal } from './stores/suite/journal.suite.ts';
import { keys } from './stores/suite/keys.suite.ts';
import { list } from './stores/suite/list.suite.ts';
import { measures } from './stores/suite/measures.suite.ts';
import { ownership } from './stores/suite/ownership.suite.ts';
import { queries } from './stores/suite/queries.suite.ts';
import type { Subject } from './stores/suite/subject.suite.ts';
import { visibility } from './stores/suite/visibility.suite.ts';

/** What every store does. `makeStore` gives one that holds nothing and is not open. */
export function storeSuite(name: string, makeStore: (options?: StoreOptions) => Store): void {
  describe(name, () => {
    const subject = { time: 0 } as Subject;

    beforeEach(async () => {
      subject.time = 1_000_000;
      subject.store = makeStore({ clock: () => subject.time });
      await subject.store.open();
    });
    afterEach(() => subject.store.close());

    commands(subject);
    visibility(subject);
    journal(subject);
    ids(subject);
    graph(subject);
    events(subject);
    keys(subject);
    queries(subject);
    list(subject);
    measures(subject);
    ownership(subject);

    describe('clock and secret', () => {
      test('the clock follows its source and never goes back', () => {
        expect(subject.store.now()).toBe(1_000_000);
        subject.time = 1_000_500;
        expect(subject.store.now()).toBe(1_000_500);
        subject.time = 900;
        expect(subject.store.now()).toBe(1_000_500);
      });

      test('the secret is 32 bytes, and stays the same while the store lives', async () => {
        const secret = await subject.store.secret();
        expect(secret).toHaveLength(32);
        expect(await subject.store.secret()).toEqual(secret);
        await subject.store.close();
        await subject.store.open();
        expect(await subject.store.secret()).toEqual(secret);
      });
    });
  });
}
