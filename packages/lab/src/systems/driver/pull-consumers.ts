/** Consumers that fetch messages in a loop, as most drivers do. */

import type { Consumption } from './driver.ts';
import { yieldToEventLoop } from './yield-to-event-loop.ts';

/** One round of a consumer: fetches, reports and acknowledges messages. Returns false if there were none. */
export type ConsumerTurn = (consumer: number, stopping: AbortSignal) => Promise<boolean>;

export interface PullOptions {
  consumers: number;
  turn: ConsumerTurn;
  /** Pause after a call that found nothing, milliseconds; 0 if the call itself waits. */
  pauseMs: number;
}

export function startPulling({ consumers, turn, pauseMs }: PullOptions): Consumption {
  const stopping = new AbortController();
  const work = async (consumer: number) => {
    while (!stopping.signal.aborted) {
      const found = await turn(consumer, stopping.signal);
      if (!found && pauseMs > 0) await pause(pauseMs);
      await yieldToEventLoop();
    }
  };
  const all = Promise.all(Array.from({ length: consumers }, (_, consumer) => work(consumer)));
  return {
    async stop() {
      stopping.abort();
      await all;
    },
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
