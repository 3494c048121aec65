/** A log in memory with one cursor, and messages committed to it. */
import type { Delivery } from '../../src/log/delivery.ts';
import { MessageCache } from '../../src/log/message-cache.ts';
import { MessageLog } from '../../src/log/message-log.ts';
import type { InvariantViolation } from '../../src/model/invariant.ts';
import { writeRecord } from '../../src/model/message-record.ts';
import { recordBytes } from '../../src/model/session-calls.ts';

export interface LogFixtureOptions {
  persistent?: boolean;
  /** Messages with lower numbers were in the file when the instance opened. */
  recoveredEndSeq?: number;
  /** Makes the cursor a named subscriber's. */
  subscriberName?: string;
}

export function cursorOver(
  payloads: readonly string[],
  { persistent = true, recoveredEndSeq = 1, subscriberName }: LogFixtureOptions = {},
) {
  const violations: InvariantViolation[] = [];
  const log = new MessageLog(
    {
      queueId: 1,
      id: 100,
      persistent,
      firstSeq: 1,
      endSeq: recoveredEndSeq,
      partitionMessagesMax: 10,
      retentionMs: 0,
      correlationIndexed: false,
      onInvariantBroken: (violation) => violations.push(violation),
    },
    new MessageCache(1_000_000).openShare(),
  );
  const cursor = log.addCursor({ subscriber: 0, name: subscriberName, durable: true, firstSeq: 1 });
  let holdNumber = 0;
  const nextHoldNumber = () => {
    holdNumber += 1;
    return holdNumber;
  };
  /** Delivers up to `max` messages, as one run. */
  const deliver = (max = 1): Delivery | undefined => {
    const out: Delivery[] = [];
    cursor.deliver({ max, nextHoldNumber, out });
    return out[0];
  };
  const commit = (committed: readonly string[], recipients?: string[]) => {
    if (committed.length === 0) return;
    const messages = committed.map((payload) => (recipients ? { payload, recipients } : { payload }));
    const buffer = Buffer.alloc(messages.reduce((sum, message) => sum + recordBytes(message), 0));
    let end = 0;
    for (const message of messages) end = writeRecord(buffer, end, message, { enqueuedAtMs: 0 });
    const firstSeq = log.nextSeq;
    log.nextSeq += committed.length;
    log.append({ firstSeq, count: committed.length, buffer, start: 0, end, fromDisk: false, retainCount: 0 });
  };
  commit(payloads);
  return { log, cursor, commit, deliver, violations };
}
