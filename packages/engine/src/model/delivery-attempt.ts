import type { Seq, SubscriberId } from './ids.ts';

/** How often a message of one partition was delivered to a subscriber without being consumed. */
export interface AttemptRow {
  subscriber: SubscriberId;
  seq: Seq;
  /** Deliveries that ended without the message being consumed. */
  attempts: number;
}
