/**
 * Makes a function that does pieces of work in the order in which they are given: at once where there are few, and
 * `size` of them in each turn of the event loop where there are many, so that they hold up nobody. `busy` is told
 * while some wait, and gives how to say that none does.
 */
export function inBites(size: number, busy: (work: object) => () => void): (piece: () => void) => void {
  let waiting: (() => void)[] = [];
  let room = size;
  let over: (() => void) | undefined;

  function next(): void {
    room = size;
    const pieces = waiting;
    waiting = pieces.splice(size);
    if (waiting.length > 0) setImmediate(next);
    else {
      over!();
      over = undefined;
    }
    room -= pieces.length;
    for (const piece of pieces) piece();
  }

  return (piece) => {
    if (room > 0 && waiting.length === 0) {
      room--;
      return piece();
    }
    waiting.push(piece);
    if (over !== undefined) return;
    over = busy(waiting);
    setImmediate(next);
  };
}
