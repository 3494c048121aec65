/**
 * The rules of redelivery. A retry is a set of deliveries that ended without a commit and share what happens next. Its
 * messages stay held or paused (`message-life.ts`) until it has ended.
 *
 *     decided    their consumer is done with them, and nothing has happened yet
 *     counting   the commit that counts the delivery is in progress; then they return, also if it fails
 *     delayed    paused until their delay is over
 *     moving     rejected, or their attempts are used up; the commit that moves them to the exception queue is in progress
 *     blocked    that commit failed, or there is no exception queue: paused until the next try
 *     returned   ready to be delivered again
 *     moved      consumed here, and enqueued in the exception queue
 */
import { limits } from '../api/limits.ts';
import type { ValidReturn } from './failed-attempts.ts';
import type { ViolationListener } from './invariant.ts';
import type { QueueRow } from './queue-row.ts';
import { TransitionTable } from './transition-table.ts';

export type RetryState = 'decided' | 'counting' | 'delayed' | 'moving' | 'blocked' | 'returned' | 'moved';

export type RetryCommand =
  | 'count'
  | 'return'
  | 'delay'
  /** The delay is over. */
  | 'resume'
  | 'move'
  | 'finishMove'
  | 'failMove';

export const retryLife = new TransitionTable<RetryState, RetryCommand>('a retry', {
  decided: { count: 'counting', return: 'returned', delay: 'delayed', move: 'moving' },
  counting: { return: 'returned', delay: 'delayed' },
  delayed: { resume: 'returned' },
  moving: { finishMove: 'moved', failMove: 'blocked' },
  blocked: { move: 'moving' },
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

/**
 * How long a message waits that is returned after `attempts` attempts (at least 1), milliseconds. The delay of the queue doubles
 * with each attempt. A queue without one has a back-off for messages whose consumer failed, so that no error makes a consumer spin.
 */
export function retryDelayOf(
  { retryDelayMs }: Pick<QueueRow, 'retryDelayMs'>,
  attempts: number,
  { error, delayMs }: ValidReturn = {},
): number {
  if (delayMs !== undefined) return delayMs;
  const doublings = 2 ** (attempts - 1);
  if (retryDelayMs > 0 || error === undefined)
    return Math.min(retryDelayMs * doublings, limits.retryDelayMsMax);
  return Math.min(limits.backOffMs * doublings, limits.backOffMsMax);
}

/** Whether each delivery is counted before the message is handed over. Elsewhere the commit that returns it counts. */
export function countsOnDelivery({
  attemptsMax,
  attemptsCounted,
}: Pick<QueueRow, 'attemptsMax' | 'attemptsCounted'>): boolean {
  return attemptsMax !== null && attemptsCounted === 'on-delivery';
}

/** Whether a message that was delivered so often must not be delivered again. `attemptsMax` null: no limit. */
export function attemptsUsedUp(attempts: number, attemptsMax: number | null): boolean {
  return attemptsMax !== null && attempts >= attemptsMax;
}
