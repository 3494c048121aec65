/** The event that the trace records for each command of a message's life (`message-life.ts`), and messages by their ids. */

import type { MessageEventKind } from '../api/message-event-kinds.ts';
import type { LogId, Seq } from './ids.ts';
import type { MessageCommand } from './message-life.ts';

export const eventOfCommand = {
  commit: 'committed',
  skipGap: 'lost',
  passOver: 'passed-over',
  deliver: 'delivered',
  holdUnread: 'held-unread',
  nack: 'returned',
  cancelDelivery: 'delivery-cancelled',
  pause: 'paused',
  resume: 'resumed',
  consume: 'consumed',
  evacuate: 'evacuated',
  recoverEvacuated: 'recovered',
} as const satisfies Record<MessageCommand, MessageEventKind>;

/** A message by its id: the log and the number that it was given first, which it keeps wherever it goes. */
export interface MessageName {
  logId: LogId;
  seq: Seq;
}

/** Undefined if the text does not have the form of an id. */
export function parseMessageId(id: string): MessageName | undefined {
  const [, logId, seq] = /^(\d{1,7})\.(\d{1,16})$/.exec(id) ?? [];
  return logId === undefined ? undefined : { logId: Number(logId), seq: Number(seq) };
}
