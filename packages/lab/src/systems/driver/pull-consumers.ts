/** Consumers that fetch messages in a loop, as most drivers do. */
import { type SessionTime, type WaitRecorder, waitingForMessages } from '@shardlab/engine';
import { waitingForWork } from '../../meters/load-waits.ts';
import type { Consumption } from './driver.ts';
import { isTurnDue, yieldToEventLoop } from './yield-to-event-loop.ts';

/**
 * One round of a consumer: fetches, reports and acknowledges messages. Resolves with false if there were none. `time`: of its session,
 * which is on CPU when the round begins, and runnable when it ends.
 */
export type ConsumerTurn = (consumer: number, time: SessionTime, stopping: AbortSignal) => Promise<boolean>;

export interface PullOptions {
  consumers: number;
  book: WaitRecorder;
  /** By consumer, of sessions that have one; default: new ones in `book`. */
  times?: readonly SessionTime[];
  turn: ConsumerTurn;
  /** Pause after a call that found nothing, milliseconds; 0 if the call itself waits. */
  pauseMs: number;
}

export function startPulling({ consumers, turn, pauseMs, book, times: given }: PullOptions): Consumption {
  const stopping = new AbortController();
  const times = given ?? Array.from({ length: consumers }, () => book.openSession());
  const work = async (consumer: number) => {
    const time = times[consumer]!;
    time.resume();
    while (!stopping.signal.aborted) {
      const found = await turn(consumer, time, stopping.signal);
      time.resume();
      if (!found && pauseMs > 0) {
        await time.suspend(pause(pauseMs), waitingForMessages);
        time.resume();
      }
      if (isTurnDue()) {
        await time.yield(yieldToEventLoop());
        time.resume();
      }
    }
    time.suspend(undefined, waitingForWork);
  };
  const all = Promise.all(Array.from({ length: consumers }, (_, consumer) => work(consumer)));
  return {
    async stop() {
      stopping.abort();
      await all;
      if (given === undefined) for (const time of times) time.close();
    },
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
