/** The records of messages that a client enqueues. */
import type { NewMessage } from '../api/message.ts';
import { hasNoRoutingFields } from '../model/inspect-record.ts';
import { type RecordRun, readRecord, recordEnd } from '../model/message-record.ts';
import { assertTransactionSize } from '../model/session-calls.ts';
import { validateRecord } from '../model/validate-record.ts';
import { protocolError } from '../wire/protocol.ts';

/**
 * `arePlain`: none has a group key, recipients or a priority. Stops at the first record beyond the expected number. Throws
 * `PROTOCOL_INVALID`, `MESSAGE_INVALID`, `TX_TOO_LARGE`.
 */
export function validateRecords({ source, start, end, count: expected }: RecordRun): { arePlain: boolean } {
  let arePlain = true;
  let count = 0;
  assertTransactionSize(expected, 0);
  for (let at = start; at < end && count <= expected; count += 1) {
    const next = validateRecord(source, at, end);
    arePlain &&= hasNoRoutingFields(source, at);
    at = next;
  }
  if (count === 0 || count !== expected)
    throw protocolError('The number of enqueued records differs from what the header says');
  return { arePlain };
}

/** As their sender passed them: when they are enqueued is what this instance says. */
export function readRecords({ source, start, end }: RecordRun): NewMessage[] {
  const messages: NewMessage[] = [];
  for (let at = start; at < end; at = recordEnd(source, at)) {
    const { enqueuedAtMs: _, ...message } = readRecord(source, at);
    messages.push(message);
  }
  return messages;
}
