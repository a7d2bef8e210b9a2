import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Slots } from './slots.ts';

const unlimited = (): number => Infinity;

/** Asks for slots one after the other, and notes who got one. */
function queue(slots: Slots) {
  const served: string[] = [];
  const ask = (name: string, tool = 'any') => slots.acquire(tool, () => served.push(name));
  return { served, ask };
}

describe('slots', () => {
  it('are given at once while there are any', () => {
    const { served, ask } = queue(new Slots(2, unlimited));
    for (const name of ['a', 'b', 'c']) ask(name);
    expect(served).toEqual(['a', 'b']);
  });

  it('go to whoever waits longest, whatever the tool', () => {
    const slots = new Slots(1, unlimited);
    const { served, ask } = queue(slots);
    ask('busy', 'x');
    ask('first', 'y');
    ask('second', 'x');
    ask('third', 'y');
    slots.release('x');
    slots.release('y');
    slots.release('x');
    expect(served).toEqual(['busy', 'first', 'second', 'third']);
  });

  it('are limited per tool; others pass by', () => {
    const slots = new Slots(10, (tool) => (tool === 'slow' ? 1 : Infinity));
    const { served, ask } = queue(slots);
    ask('slow 1', 'slow');
    ask('slow 2', 'slow');
    ask('quick', 'quick');
    expect(served).toEqual(['slow 1', 'quick']);
    slots.release('quick');
    expect(served).toEqual(['slow 1', 'quick']);
    slots.release('slow');
    expect(served).toEqual(['slow 1', 'quick', 'slow 2']);
  });

  it('pass over whoever gave up', () => {
    const slots = new Slots(1, unlimited);
    const { served, ask } = queue(slots);
    ask('busy');
    ask('gone').cancel();
    ask('there');
    slots.release('any');
    expect(served).toEqual(['busy', 'there']);
  });

  it('are not taken back from whoever has one, though he gives up his ticket', () => {
    const slots = new Slots(1, unlimited);
    const { served, ask } = queue(slots);
    const ticket = ask('busy');
    ticket.cancel();
    ask('next');
    expect(served).toEqual(['busy']);
  });

  it('never exceed a limit, never stand empty while somebody could use one, and serve each tool in order', () => {
    const limits: Record<string, number> = { a: 1, b: 2, c: Infinity };
    const move = fc.record({
      kind: fc.constantFrom('acquire', 'release', 'cancel'),
      tool: fc.constantFrom('a', 'b', 'c'),
      pick: fc.nat(9),
    });
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (moves, limit) => {
        const slots = new Slots(limit, (tool) => limits[tool]!);
        const waiting: { tool: string; cancel: () => void }[] = [];
        const busy: string[] = [];
        for (const { kind, tool, pick } of moves) {
          if (kind === 'acquire') {
            const asked = { tool, cancel: () => undefined as void };
            waiting.push(asked);
            const ticket = slots.acquire(tool, () => {
              // Nobody of the same tool came before.
              expect(waiting.find((other) => other.tool === tool)).toBe(asked);
              waiting.splice(waiting.indexOf(asked), 1);
              busy.push(tool);
            });
            asked.cancel = () => ticket.cancel();
          } else if (kind === 'release' && busy.length > 0) {
            const [freed] = busy.splice(pick % busy.length, 1);
            slots.release(freed!);
          } else if (kind === 'cancel' && waiting.length > 0) {
            waiting.splice(pick % waiting.length, 1)[0]!.cancel();
          }
          const busyOf = (name: string) => busy.filter((other) => other === name).length;
          expect(busy.length).toBeLessThanOrEqual(limit);
          for (const name of ['a', 'b']) expect(busyOf(name)).toBeLessThanOrEqual(limits[name]!);
          const servable = waiting.some((asked) => busyOf(asked.tool) < limits[asked.tool]!);
          expect(servable && busy.length < limit).toBe(false);
        }
      }),
    );
  });
});
