/** A run of consecutive messages that one dequeue delivers together. */

import type { EvacuatedRow } from '../model/evacuated-message.ts';
import type { FailedAttempts } from '../model/failed-attempts.ts';
import type { HoldNumber, Seq } from '../model/ids.ts';
import type { MessageState } from '../model/message-life.ts';
import { bufferOf, recordEnd } from '../model/message-record.ts';
import type { CachedRun } from './message-cache.ts';

/**
 * Consecutive messages for one call are a single run whatever their number, so the cost of holding and consuming them
 * does not grow with it.
 */
export interface DeliveryRun {
  readonly firstSeq: Seq;
  readonly count: number;
  readonly run: CachedRun;
  /** Offsets in the run's buffer: where the first record starts and the last one ends. */
  readonly start: number;
  readonly end: number;
  /** Delivery attempt, from 1; the same for all messages of the run. */
  readonly deliveryCount: number;
  /** Unique within the instance's epoch. */
  readonly holdNumber: HoldNumber;
  /** The same for all messages of the run. Only `CursorDeliveries` changes it, through the table of `message-life.ts`. */
  state: MessageState;
  /** Set once attempts of all messages of the run have failed. */
  failures?: FailedAttempts;
}

/** The first `count` messages of a run, and the rest, which must not be empty. */
export function splitDelivery<Run extends DeliveryRun>(
  delivery: Run,
  count: number,
): [first: Run, rest: Run] {
  let middle = delivery.start;
  for (let i = 0; i < count; i += 1) middle = recordEnd(delivery.run.buffer, middle);
  return [
    { ...delivery, count, end: middle },
    {
      ...delivery,
      firstSeq: delivery.firstSeq + count,
      count: delivery.count - count,
      start: middle,
    },
  ];
}

/** The same messages as runs of one message each. */
export function* singleDeliveries<Run extends DeliveryRun>(delivery: Run): Generator<Run> {
  let rest = delivery;
  while (rest.count > 1) {
    const [single, others] = splitDelivery(rest, 1);
    yield single;
    rest = others;
  }
  yield rest;
}

/** An evacuated message that the file holds. */
export function recoveredDelivery({ seq, attempts, record }: EvacuatedRow, state: MessageState): DeliveryRun {
  const buffer = bufferOf(record);
  const extent = { firstSeq: seq, count: 1, start: 0, end: buffer.length };
  const run = { ...extent, buffer, fromDisk: true, retainCount: 0 };
  return { ...extent, run, deliveryCount: attempts, holdNumber: 0, state };
}

/** Messages that are delivered without their records being read. */
export function unreadDelivery(firstSeq: Seq, count: number, state: MessageState): DeliveryRun {
  const extent = { firstSeq, count, start: 0, end: 0 };
  const run = { ...extent, buffer: emptyBuffer, fromDisk: true, retainCount: 0 };
  return { ...extent, run, deliveryCount: 1, holdNumber: 0, state };
}

const emptyBuffer = Buffer.alloc(0);
