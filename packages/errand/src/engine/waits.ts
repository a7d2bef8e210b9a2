import type { Clock } from '../clock.ts';

/** How long a call waits for something, at most. */
export interface Wait {
  /** In ms, from now; 0 once it is over. */
  readonly left: number;
  /** Calls `action` when it is over, at once if it is. Returns how to stop that. */
  onceOver(action: () => void): () => void;
}

/** The waits of all calls. A server that closes ends them, so that each call is answered while it can be. */
export interface Waits {
  begin(ms: number): Wait;
  /** Whether they were ended. */
  readonly ended: boolean;
  /** Ends all of them, and those to come. */
  end(): void;
}

export function createWaits(clock: Clock): Waits {
  const endings = new Set<() => void>();
  let ended = false;

  return {
    get ended() {
      return ended;
    },

    begin(ms) {
      const until = clock.elapsed() + ms;
      const left = (): number => (ended ? 0 : Math.max(0, until - clock.elapsed()));
      return {
        get left() {
          return left();
        },
        onceOver(action) {
          const ms = left();
          const over = (): void => {
            stop();
            action();
          };
          const stop = (): void => {
            stopTimer?.();
            endings.delete(over);
          };
          const stopTimer = ms === 0 || ms === Infinity ? undefined : clock.after(ms, over);
          if (ms === 0) action();
          else endings.add(over);
          return stop;
        },
      };
    },

    end() {
      ended = true;
      for (const over of [...endings]) over();
    },
  };
}
