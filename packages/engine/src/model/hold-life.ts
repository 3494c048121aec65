/**
 * The life of a timed hold: one message that was delivered with a receipt, until its consumer, its time or its queue ends it.
 * `message-life.ts` decides what happens to the message then.
 *
 *     held     its time runs; its receipt is valid
 *     staged   a transaction acknowledges it: it does not expire, and its receipt is refused until the transaction ends
 *     dropped  its queue or subscriber is gone, while a transaction still refers to it
 *     ended    its receipt is stale (invariant 7)
 */
import { TransitionTable } from './transition-table.ts';

export type HoldState = 'held' | 'staged' | 'dropped' | 'ended';

export type HoldCommand =
  /** Its time starts again. */
  | 'extend'
  /** Its consumer returns the message. */
  | 'release'
  /** Its time is over. */
  | 'expire'
  /** A transaction acknowledges it. */
  | 'stage'
  /** That transaction was rolled back. */
  | 'unstage'
  /** That transaction is durable. */
  | 'settle'
  /** Its queue, its subscriber or the instance is gone. */
  | 'drop';

export const holdLife = new TransitionTable<HoldState, HoldCommand>('a timed hold', {
  held: { extend: 'held', release: 'ended', expire: 'ended', stage: 'staged', drop: 'ended' },
  staged: { unstage: 'held', settle: 'ended', drop: 'dropped' },
  dropped: { unstage: 'ended', settle: 'ended' },
  ended: {},
});
