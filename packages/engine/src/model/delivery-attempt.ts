import type { SubscriberId } from './ids.ts';

/** How often a message of one partition was delivered to a subscriber without being consumed. */
export interface AttemptRow {
  subscriber: SubscriberId;
  seq: number;
  /** Deliveries that ended without the message being consumed. */
  attempts: number;
}
