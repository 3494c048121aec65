/**
 * The rules of forwarding. Messages of a shard move to another instance in numbered batches; the states below are what the sender
 * knows of one shard. At most one batch of a shard is in flight. While messages that moved may not have been delivered, the ones
 * behind them are delivered nowhere else (invariant 4).
 *
 *     closed       everything that was sent has been delivered, and the sender's file says so
 *     open         the same, but the file names a receiver, which must be asked after a crash which messages it has
 *     sending      a batch is in flight to a receiver that has delivered everything before it
 *     sendingMore  a batch is in flight to a receiver that still has undelivered messages
 *     consuming    the receiver has committed the batch; the sender is marking its messages as moved
 *     forwarded    the receiver has messages that it has not delivered yet
 *     inDoubt      the connection was lost or the sender reopened: it is unknown here whether the last batch arrived
 */
import type { BatchNumber } from './ids.ts';
import { TransitionTable } from './transition-table.ts';

export type ForwardingState =
  | 'closed'
  | 'open'
  | 'sending'
  | 'sendingMore'
  | 'consuming'
  | 'forwarded'
  | 'inDoubt';

export type ForwardingCommand =
  /** The file names this receiver, which must be asked after a crash. */
  | 'open'
  /** The file no longer names a receiver. */
  | 'close'
  | 'send'
  /** The receiver has committed the batch. */
  | 'accept'
  /** The receiver has not committed the batch, and never will. */
  | 'refuse'
  | 'loseConnection'
  /** The sender's file marks the messages of the batch as moved. */
  | 'consume'
  /** The receiver has delivered or passed on everything that it was sent. */
  | 'finishDelivery';

export const forwardingLife = new TransitionTable<ForwardingState, ForwardingCommand>('a forwarding', {
  closed: { open: 'open' },
  open: { open: 'open', close: 'closed', send: 'sending' },
  sending: { accept: 'consuming', refuse: 'open', loseConnection: 'inDoubt' },
  sendingMore: { accept: 'consuming', refuse: 'forwarded', loseConnection: 'inDoubt' },
  consuming: { consume: 'forwarded' },
  forwarded: { send: 'sendingMore', finishDelivery: 'open' },
  // A refusal says nothing about earlier batches: whether they were delivered has to be asked too.
  inDoubt: { accept: 'consuming', refuse: 'forwarded' },
});

/**
 * Whether messages of the shard may be delivered here for the first time. While they return to their owner (`open`),
 * they may not: the owner may already have those before them.
 */
export function canDeliverLocally(state: ForwardingState, returnsToOwner: boolean): boolean {
  return state === 'closed' || (state === 'open' && !returnsToOwner);
}

/** Whether the receiver has committed a batch that the sender has not yet marked as moved. */
export function isUnconsumed(lastReceivedBatch: BatchNumber, lastConsumedBatch: BatchNumber): boolean {
  return lastReceivedBatch > lastConsumedBatch;
}

export interface BatchSizeLimits {
  min: number;
  max: number;
  /** How long a receiver should take to deliver a batch. A longer one would keep its messages from other instances. */
  targetMs: number;
}

/** Messages to request next, after a batch of `last` messages was delivered within `tookMs`. */
export function nextBatchSize(last: number, tookMs: number, { min, max, targetMs }: BatchSizeLimits): number {
  const factor = Math.min(2, targetMs / Math.max(tookMs, 1e-3));
  return Math.max(min, Math.min(max, Math.round(last * factor)));
}
