/** A waiting or active run with its state, ticks and events, and the clients that follow it. */
import type { Run, RunEvent } from '@shardlab/contract';
import { limits } from '../limits.ts';
import { EventLog, endEventId, frameOf, toFrame } from './event-log.ts';
import { TickHistory } from './tick-history.ts';

/** The client of a stream. It disconnects itself if it cannot keep up. */
export interface Follower {
  send(frame: string): void;
  /** Called after the last frame. */
  end(): void;
}

/** Bounds of the ticks of one run. */
export const tickBounds = { countMax: limits.ticksKeptMax, bytesMax: limits.ticksKeptBytes };

export class RunChannel {
  run: Run;
  readonly ticks = new TickHistory(tickBounds);
  readonly #log: EventLog;
  readonly #followers = new Set<Follower>();

  /** `nowMs`: epoch milliseconds. A run has a channel again after a restart or when it is resumed. */
  constructor(run: Run, nowMs: number) {
    this.run = run;
    this.#log = new EventLog({
      countMax: limits.eventsKeptMax,
      bytesMax: limits.eventsKeptBytes,
      // No channel has had as many events as microseconds, so the ids of an earlier one of this run are lower.
      idBefore: nowMs * 1_000,
    });
  }

  get watched(): boolean {
    return this.#followers.size > 0;
  }

  publish(event: Exclude<RunEvent, { type: 'end' }>): void {
    const frame = this.#log.append(event);
    for (const follower of this.#followers) follower.send(frame);
  }

  end(): void {
    const frame = toFrame({ type: 'end', run: this.run }, endEventId);
    for (const follower of this.#followers) {
      follower.send(frame);
      follower.end();
    }
    this.#followers.clear();
  }

  /** Continues after `lastEventId` if that is kept, otherwise begins with a snapshot. Returns a function that stops. */
  follow(follower: Follower, lastEventId: number | null): () => void {
    const missed = lastEventId === null ? undefined : this.#log.since(lastEventId);
    if (missed !== undefined) for (const frame of missed) follower.send(frame);
    else
      follower.send(
        frameOf('snapshot', { run: JSON.stringify(this.run), ticks: this.ticks.json }, this.#log.lastId),
      );
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}
