/**
 * Keeps the order of messages that return to their owner. A message keeps its number in its shard wherever it goes, so a returned
 * batch belongs before all returned messages with higher numbers: part of what returned earlier may have been forwarded again and
 * return a second time, or more may return after a restart. This includes messages that were delivered before: their numbers are
 * lower than all others, and after a restart it is unknown which messages they are. A message that was delayed has no number in
 * the shard (0).
 */

import type { Delivery } from '../log/delivery.ts';
import type { SubscriberCursor } from '../log/subscriber-cursor.ts';
import type { ForwardedBatch } from '../model/forwarded-batch.ts';
import type { LogId, Seq } from '../model/ids.ts';
import { readId, recordEnd } from '../model/message-record.ts';
import { cancelDeliveries, withoutHoldNumber } from './take-batch.ts';

function seqInLog(logId: LogId, source: Buffer, start: number): Seq {
  const prefix = `${logId}.`;
  const id = readId(source, start);
  return id?.startsWith(prefix) ? Number(id.slice(prefix.length)) : 0;
}

/** The highest number of a batch. */
export function highestSeq({ shard: logId, records: { source, start, end } }: ForwardedBatch): Seq {
  let highest = 0;
  for (let at = start; at < end; at = recordEnd(source, at))
    highest = Math.max(highest, seqInLog(logId, source, at));
  return highest;
}

/**
 * Takes the ready messages, starting with the first whose number is above `seq`; those before it stay ready. `cursor` belongs to
 * the log of returned messages. `readAhead` brings its next messages into memory. If it fails, all messages stay ready.
 */
export async function takeAboveSeq(
  cursor: SubscriberCursor,
  { seq, logId, readAhead }: { seq: Seq; logId: LogId; readAhead(): Promise<void> | undefined },
): Promise<Delivery[]> {
  const ready: Delivery[] = [];
  try {
    for (let taken = 1; taken > 0 && cursor.ready > 0; ) {
      if (cursor.needsRead) await readAhead();
      taken = take(cursor, cursor.ready, ready);
    }
  } catch (error) {
    cancelDeliveries(ready);
    throw error;
  }
  const lowerCount = countUpToSeq(seq, logId, ready);
  cancelDeliveries(ready);
  const lower: Delivery[] = [];
  const higher: Delivery[] = [];
  take(cursor, lowerCount, lower);
  take(cursor, ready.reduce((sum, { count }) => sum + count, 0) - lowerCount, higher);
  cancelDeliveries(lower);
  return higher;
}

function take(cursor: SubscriberCursor, max: number, out: Delivery[]): number {
  return max > 0 ? cursor.takeForForwarding({ max, nextHoldNumber: withoutHoldNumber, out }) : 0;
}

/** How many messages come before the first one whose number is above `seq`. */
function countUpToSeq(seq: Seq, logId: LogId, deliveries: readonly Delivery[]): number {
  let count = 0;
  for (const { run, start, end } of deliveries) {
    for (let at = start; at < end; at = recordEnd(run.buffer, at), count += 1) {
      if (seqInLog(logId, run.buffer, at) > seq) return count;
    }
  }
  return count;
}
