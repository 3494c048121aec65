/** Consumers that ask for messages themselves: what most drivers are. */
import { breathe } from '../trial/turns.ts';
import type { Consumption } from './driver.ts';

/** One round of a consumer: takes messages, reports them, acknowledges them. False if there was none. */
export type ConsumerTurn = (consumer: number, stopping: AbortSignal) => Promise<boolean>;

export interface PullOptions {
  consumers: number;
  turn: ConsumerTurn;
  /** How long a consumer pauses after it found nothing; 0 where its call waits by itself. */
  pauseMs: number;
}

export function startPulling({ consumers, turn, pauseMs }: PullOptions): Consumption {
  const stopping = new AbortController();
  const work = async (consumer: number) => {
    while (!stopping.signal.aborted) {
      const found = await turn(consumer, stopping.signal);
      if (!found && pauseMs > 0) await pause(pauseMs);
      await breathe();
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
