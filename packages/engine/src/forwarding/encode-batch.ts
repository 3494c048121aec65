/** Encodes messages for another instance: their records one after the other, each with the id that the message keeps. */

import type { Delivery } from '../log/delivery.ts';
import type { ForwardedBatch } from '../model/forwarded-batch.ts';
import type { IdRun } from '../model/id-runs.ts';
import { copyWithId } from '../model/inspect-record.ts';
import { idBytesMax, recordEnd } from '../model/message-record.ts';

/** How many bytes a record can grow by: those of its id, and two for the id's length. */
const idGrowthBytesMax = 2 + idBytesMax;

export function encodeBatch(
  deliveries: readonly Delivery[],
): Pick<ForwardedBatch, 'records' | 'sourceRuns' | 'priorAttempts'> {
  const bytesMax = deliveries.reduce(
    (sum, { start, end, count }) => sum + end - start + count * idGrowthBytesMax,
    0,
  );
  const target = Buffer.allocUnsafe(bytesMax);
  const sourceRuns: IdRun[] = [];
  const priorAttempts: [index: number, times: number][] = [];
  let count = 0;
  let targetEnd = 0;
  for (const { cursor, run, firstSeq, start, end, deliveryCount, ...delivery } of deliveries) {
    const { id } = cursor.log;
    sourceRuns.push({ shard: id, firstSeq, count: delivery.count });
    let seq = firstSeq;
    for (let at = start; at < end; at = recordEnd(run.buffer, at), seq += 1, count += 1) {
      targetEnd = copyWithId(run.buffer, at, { target, at: targetEnd, id: () => `${id}.${seq}` });
      if (deliveryCount > 1) priorAttempts.push([count, deliveryCount - 1]);
    }
  }
  return { sourceRuns, priorAttempts, records: { source: target, start: 0, end: targetEnd, count } };
}
