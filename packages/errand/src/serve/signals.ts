import { constants } from 'node:os';
import type { Logger } from 'pino';
import { toMs, type Duration } from '../duration.ts';

/** How a server ends when its process is told to. */
export interface SignalOptions {
  /**
   * How long it serves on after the signal, while `/readyz` answers 503: for load balancers, which go on sending
   * until they notice. Default 0.
   */
  readonly notice?: Duration;
  /** Called when the server has closed, before the process exits; waited for. The place to flush telemetry. */
  readonly onClosed?: () => unknown;
}

/** For programs that serve and do nothing else. */
export interface HandlesSignals {
  /**
   * Closes the server on SIGTERM, SIGINT or SIGHUP, and exits with 0; a second signal exits at once. Default false:
   * the process is yours, and a server that is simply killed loses nothing that it acknowledged.
   */
  readonly handleSignals?: boolean | SignalOptions;
}

export interface Closing {
  /** The server should get no more requests, from here on. */
  readonly onNotice: () => void;
  readonly close: () => Promise<void>;
  readonly log: Logger;
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** A terminal sends Ctrl-C to everybody, and whoever started us, such as npm, may pass it on: so soon it is the same, in ms. */
const SAME_WITHIN = 300;

/** Closes a server when its process is told to end. Returns how to leave signals alone again, until one has come. */
export function closeOnSignals(
  { onNotice, close, log }: Closing,
  { notice = 0, onClosed }: SignalOptions = {},
): () => void {
  const noticeMs = toMs(notice, 'handleSignals: notice');
  let since: number | undefined;

  async function end(): Promise<void> {
    onNotice();
    if (noticeMs > 0) await new Promise((resolve) => setTimeout(resolve, noticeMs));
    await close();
    await onClosed?.();
  }

  function onSignal(signal: (typeof SIGNALS)[number]): void {
    if (since !== undefined) {
      if (performance.now() - since > SAME_WITHIN) process.exit(128 + constants.signals[signal]);
      return;
    }
    since = performance.now();
    end().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the server did not close in good order');
        process.exit(1);
      },
    );
  }

  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    if (since !== undefined) return;
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}
