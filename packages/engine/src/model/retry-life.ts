/**
 * The rules of redelivery. A retry is a set of deliveries that ended without a commit and share what happens next. Its
 * messages stay held or paused (`message-life.ts`) until it has ended.
 *
 *     decided    their consumer is done with them, and nothing has happened yet
 *     delayed    paused until the queue's retry delay is over
 *     moving     their attempts are used up; the commit that moves them to the exception queue is in progress
 *     blocked    that commit failed, or the exception queue is gone: paused until the next try
 *     returned   ready to be delivered again; where the attempts are used up, the dispatcher moves them instead
 *     moved      consumed here, and enqueued in the exception queue
 */
import { limits } from '../api/limits.ts';
import type { ViolationListener } from './invariant.ts';
import { TransitionTable } from './transition-table.ts';

export type RetryState = 'decided' | 'delayed' | 'moving' | 'blocked' | 'returned' | 'moved';

export type RetryCommand =
  | 'return'
  | 'delay'
  /** The retry delay, or the pause before the next try, is over. */
  | 'resume'
  | 'move'
  | 'finishMove'
  | 'failMove';

export const retryLife = new TransitionTable<RetryState, RetryCommand>('a retry', {
  decided: { return: 'returned', delay: 'delayed', move: 'moving' },
  delayed: { resume: 'returned' },
  moving: { finishMove: 'moved', failMove: 'blocked' },
  blocked: { resume: 'returned' },
  returned: {},
  moved: {},
});

/** Deliveries of one queue that ended without a commit and share what happens next. */
export class Retry<Queue, Delivery> {
  readonly queue: Queue;
  readonly deliveries: readonly Delivery[];
  #state: RetryState = 'decided';

  constructor(queue: Queue, deliveries: readonly Delivery[]) {
    this.queue = queue;
    this.deliveries = deliveries;
  }

  get state(): RetryState {
    return this.#state;
  }

  /** A command that is illegal in its state stops the instance. */
  apply(command: RetryCommand, onInvariantBroken: ViolationListener): void {
    this.#state = retryLife.next(this.#state, command, onInvariantBroken);
  }
}

/** The delay after `attempts` attempts (at least 1), milliseconds: it doubles with each, up to the longest that is allowed. */
export function retryDelayAfter(attempts: number, retryDelayMs: number): number {
  return Math.min(retryDelayMs * 2 ** (attempts - 1), limits.retryDelayMsMax);
}

/** Whether a message that was delivered so often must not be delivered again. `attemptsMax` null: no limit. */
export function attemptsUsedUp(attempts: number, attemptsMax: number | null): boolean {
  return attemptsMax !== null && attempts >= attemptsMax;
}
