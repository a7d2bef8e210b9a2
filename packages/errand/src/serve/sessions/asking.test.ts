import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../json.ts';
import type { JsonRpcMessage, JsonRpcResponse } from '../../jsonrpc.ts';
import { Asking, questionOf, type Wanted } from './asking.ts';
import type { Outlet } from './streams.ts';

interface Way extends Outlet {
  state: Outlet['state'];
  readonly sent: (JsonRpcMessage & { id?: unknown; method?: string; params?: JsonObject })[];
}

/** A way on which what was sent is read at once, unless it is away. */
function way(state: Outlet['state'] = 'open'): Way {
  const it: Way = {
    state,
    sent: [],
    send(message) {
      it.sent.push(message);
      return () => {
        if (it.state !== 'away' || !it.sent.includes(message)) return false;
        it.sent.splice(it.sent.indexOf(message), 1);
        return true;
      };
    },
  };
  return it;
}

function setUp(outlet: () => Outlet | undefined, more: Partial<Wanted> = {}) {
  const asking = new Asking();
  const taken: JsonRpcResponse[] = [];
  const takeBack = asking.ask({
    method: 'elicitation/create',
    params: () => ({ message: '?' }),
    takenBack: (params) => ({ ...params, _meta: {} }),
    outlet,
    take: async (response) => void taken.push(response),
    ...more,
  });
  return { asking, taken, takeBack };
}

const answer = (id: unknown) => ({ jsonrpc: '2.0' as const, id: id as string, result: {} });

describe('a request of ours', () => {
  it('waits until there is a way, and goes out once', () => {
    const ways: Way[] = [];
    const { asking } = setUp(() => ways[0]);
    ways.push(way());
    asking.place();
    asking.place();
    expect(ways[0]!.sent).toHaveLength(1);
  });

  it('takes one response, and knows no other', async () => {
    const outlet = way();
    const { asking, taken } = setUp(() => outlet);
    const { id } = outlet.sent[0]!;
    expect(asking.has(id as string)).toBe(true);
    await asking.take(answer(id));
    expect(taken).toEqual([answer(id)]);
    expect(asking.has(id as string)).toBe(false);
    asking.place();
    expect(outlet.sent).toHaveLength(1);
  });

  it('goes out again when its way was lost, under another id, and the response to either counts', async () => {
    const [first, second] = [way(), way()];
    let outlet = first;
    const { asking, taken } = setUp(() => outlet);
    first.state = 'lost';
    outlet = second;
    asking.place();
    expect(second.sent).toHaveLength(1);
    expect(second.sent[0]!.id).not.toBe(first.sent[0]!.id);
    await asking.take(answer(first.sent[0]!.id));
    expect(taken).toHaveLength(1);
    expect(asking.has(second.sent[0]!.id as string)).toBe(false);
  });

  it('stays where its client has it, also when that stream has ended in good order', () => {
    const [first, second] = [way(), way()];
    let outlet = first;
    const { asking } = setUp(() => outlet);
    first.state = 'done';
    outlet = second;
    asking.place();
    expect(second.sent).toEqual([]);
  });

  it('that waits for its client to come back is taken to a way that is open (L-31)', () => {
    const [away, open] = [way('away'), way()];
    let outlet = away;
    const { asking } = setUp(() => outlet);
    asking.place();
    expect(away.sent).toHaveLength(1);
    outlet = open;
    asking.place();
    expect([away.sent, open.sent].map(({ length }) => length)).toEqual([0, 1]);
  });

  it('is made again where the response is none to it, three times in all', async () => {
    const outlet = way();
    const { asking } = setUp(() => outlet, { take: () => Promise.reject(new Error('no answer')) });
    for (let time = 1; time <= 3; time++) {
      expect(outlet.sent).toHaveLength(time);
      await expect(asking.take(answer(outlet.sent.at(-1)!.id))).rejects.toThrow('no answer');
    }
    expect(outlet.sent).toHaveLength(3);
  });

  it('is taken back by a notification, or before anybody read it', () => {
    const open = way();
    const { takeBack, asking } = setUp(() => open);
    const { id } = open.sent[0]!;
    takeBack();
    takeBack();
    expect(open.sent.slice(1)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, _meta: {} } },
    ]);
    expect(asking.has(id as string)).toBe(false);
    const away = way('away');
    setUp(() => away).takeBack();
    expect(away.sent).toEqual([]);
  });

  it('that was taken back is not made again, also where a response is looked at meanwhile that is none', async () => {
    const outlet = way();
    const { asking, takeBack } = setUp(() => outlet, {
      take: async () => {
        takeBack();
        throw new Error('no answer');
      },
    });
    await expect(asking.take(answer(outlet.sent[0]!.id))).rejects.toThrow('no answer');
    asking.place();
    expect(outlet.sent).toHaveLength(1);
  });

  it('says by its id which question of which task it is, and is never the same twice', () => {
    const question = { taskId: 'task_-1', key: 'chunk-3/a:b' };
    const ids = [1, 2].map(() => {
      const outlet = way();
      setUp(() => outlet, { question });
      return outlet.sent[0]!.id;
    });
    expect(ids[0]).not.toBe(ids[1]);
    for (const id of ids) expect(questionOf(id)).toEqual(question);
    for (const id of [7, 'x', 'a:b', undefined]) expect(questionOf(id)).toBeUndefined();
  });
});
