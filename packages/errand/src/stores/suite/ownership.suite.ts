import { describe, expect, test } from 'vitest';
import type { Subject } from './subject.suite.ts';

export function ownership(subject: Subject): void {
  describe('ownership', () => {
    const soon = (check: () => void) => expect.poll(check, { timeout: 5000, interval: 10 });

    test('is had at once where nobody has it', () => {
      let owns = false;
      const giveUp = subject.store.own(() => (owns = true));
      expect(owns).toBe(true);
      giveUp();
    });

    test('passes on, once, when it is given up', async () => {
      const events: string[] = [];
      const giveUp = subject.store.own(() => events.push('first'));
      subject.store.own(() => events.push('second'));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(events).toEqual(['first']);
      giveUp();
      giveUp();
      await soon(() => events.length).toBe(2);
      expect(events).toEqual(['first', 'second']);
    });

    test('never comes to whoever stopped waiting for it', async () => {
      const events: string[] = [];
      const giveUp = subject.store.own(() => events.push('first'));
      const stopWaiting = subject.store.own(() => events.push('second'));
      subject.store.own(() => events.push('third'));
      stopWaiting();
      giveUp();
      await soon(() => events.length).toBe(2);
      expect(events).toEqual(['first', 'third']);
    });

    test('ends with the store, and can be had again from a store that was opened again', async () => {
      subject.store.own(() => undefined);
      await subject.store.close();
      await subject.store.open();
      let owns = false;
      subject.store.own(() => (owns = true));
      expect(owns).toBe(true);
    });

    test('cannot be had of a store that is closed', async () => {
      await subject.store.close();
      expect(() => subject.store.own(() => undefined)).toThrow('out of reach');
    });
  });
}
