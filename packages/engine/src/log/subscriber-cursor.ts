/** A subscriber's position in a message log. The class is `LogCursor`, which knows of its log only what it needs. */
import type { CursorGate, LogCursor } from './log-cursor.ts';
import type { MessageLog } from './message-log.ts';

export type SubscriberCursor = LogCursor<MessageLog>;
export type DeliveryGate = CursorGate<MessageLog>;
