/**
 * The events of a message's life, in the order of a usual one. A separate entry of the package without imports, so that the
 * descriptions of the wire (`@shardlab/contract`) can use the same list.
 *
 * Those of the first group change the state of a message (`docs/message-trace.md` has the table); the others give the place and
 * the reason.
 */
export const messageEventKinds = [
  'committed',
  'lost',
  'passed-over',
  'delivered',
  'held-unread',
  'returned',
  'delivery-cancelled',
  'paused',
  'resumed',
  'consumed',
  'evacuated',
  'recovered',

  'enqueued',
  'delayed',
  'due',
  'grouped',
  'cached',
  'left-on-disk',
  'read',
  'held',
  'extended',
  'released',
  'expired',
  'rolled-back',
  'prepared',
  'diverted',
  'forwarded',
  'received',
  'truncated',
] as const;

export type MessageEventKind = (typeof messageEventKinds)[number];
