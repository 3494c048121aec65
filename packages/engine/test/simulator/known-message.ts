/** What the oracle knows of a transaction, a hold and a message. */
import type { DeliveryPart } from '@shardlab/history';
import type { Message } from '../../src/api/message.ts';
import type { QueueRow } from '../../src/model/queue-row.ts';

export interface KnownTransaction {
  instance: number;
  enqueued: KnownMessage[];
  /** Holds of messages that were dequeued in the transaction. */
  dequeued: Hold[];
  /** Holds that the transaction acknowledges by receipt. */
  acknowledged: Hold[];
  /** Whether it acknowledges a receipt that is certainly stale. */
  hasStaleReceipt: boolean;
  /** Receipts that another commit under way acknowledged before: only one of the two may succeed. */
  contested: Hold[];
  /** In simulated time. */
  beganCommitAtMs: number;
  /** Whether its messages were delivered before its commit was answered. */
  visible: boolean;
  durable: boolean;
  state: 'open' | 'pending' | 'committed' | 'unknown' | 'refused';
}

export interface Hold {
  message: KnownMessage;
  instance: number;
  receipt: string;
  /** Undefined for a hold that lasts until its transaction ends. */
  expiresAtMs: number | undefined;
  /** The transaction whose commit, which is under way, consumes the message. */
  committing: KnownTransaction | undefined;
  ended: boolean;
  /** A call that ends it was made. */
  releasing: boolean;
  /** Its name in the history; undefined if its queue is not recorded there. */
  part: DeliveryPart | undefined;
}

export interface KnownMessage {
  payload: string;
  queue: QueueRow;
  transaction: KnownTransaction;
  /** The messages of one session to one queue in commit order; undefined if no order is promised. */
  sequence: KnownMessage[] | undefined;
  /** When its delay ends, in simulated time. Valid until a kill, since delays continue by the wall clock after a restart. */
  dueAtMs: number;
  killsAtEnqueue: number;
  delivered: boolean;
  deliveryCount: number;
  /** The number of kills before its last delivery. */
  killsAtDelivery: number;
  hold: Hold | undefined;
  consumed: 'no' | 'pending' | 'yes';
  consumedAt: number;
  /** The message that continues it in the exception queue. */
  exception: KnownMessage | undefined;
}

export interface SeenDelivery {
  instance: number;
  queue: QueueRow;
  message: Message;
  transaction: KnownTransaction | undefined;
  expiresAtMs: number | undefined;
  part: DeliveryPart | undefined;
}

/** A message in the tables of an instance. */
export interface StoredMessage {
  queueId: number;
  payload: string;
  live: boolean;
}

export function newMessage(
  payload: string,
  queue: QueueRow,
  transaction: KnownTransaction,
  sequence: KnownMessage[] | undefined,
): KnownMessage {
  return {
    payload,
    queue,
    transaction,
    sequence,
    dueAtMs: 0,
    killsAtEnqueue: 0,
    delivered: false,
    deliveryCount: 0,
    killsAtDelivery: -1,
    hold: undefined,
    consumed: 'no',
    consumedAt: 0,
    exception: undefined,
  };
}

export function holdsOf({ dequeued, acknowledged }: KnownTransaction): Hold[] {
  return [...dequeued, ...acknowledged];
}
