/** What the oracle keeps of a transaction, a hold and a message. */
import type { DeliveryPart } from '@shardlab/history';
import type { Message } from '../../src/api/message.ts';
import type { QueueRow } from '../../src/model/queue-row.ts';

export interface KnownTransaction {
  instance: number;
  enqueued: KnownMessage[];
  /** Delivered to it by a dequeue. */
  dequeued: Hold[];
  /** Acknowledged by receipt. */
  acknowledged: Hold[];
  /** It acknowledges a receipt that is stale for certain. */
  hasStaleReceipt: boolean;
  /** It acknowledges a receipt that a commit under way acknowledges already, so it must be refused. */
  hasRival: boolean;
  /** Its messages were seen before its commit was answered. */
  visible: boolean;
  durable: boolean;
  state: 'open' | 'pending' | 'committed' | 'unknown' | 'refused';
}

export interface Hold {
  message: KnownMessage;
  instance: number;
  receipt: string;
  /** Undefined: as long as the transaction is open. */
  expiresAtMs: number | undefined;
  /** The transaction whose commit consumes it, while that is under way. */
  committing: KnownTransaction | undefined;
  ended: boolean;
  /** What names it in the history; undefined if its queue is not in that. */
  part: DeliveryPart | undefined;
}

export interface KnownMessage {
  payload: string;
  queue: QueueRow;
  transaction: KnownTransaction;
  /** Messages of one session to one queue in the order of their commits; undefined where no order is promised. */
  sequence: KnownMessage[] | undefined;
  /** When its delay ends, in simulated time; it holds as long as nothing is killed, since a restart goes by the wall clock. */
  dueAtMs: number;
  killsAtEnqueue: number;
  delivered: boolean;
  deliveryCount: number;
  /** How many kills there had been at its last delivery. */
  killsAtDelivery: number;
  hold: Hold | undefined;
  consumed: 'no' | 'pending' | 'yes';
  consumedAt: number;
  /** The message that carries on in the exception queue. */
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
