/** Messages that were taken for a peer, as they travel: one record after the other, each with the id that it keeps. */
import type { IdRun } from '../../storage/id-runs.ts';
import { copyWithId, idBytesMax, recordEnd } from '../../storage/message-record.ts';
import type { Delivery } from '../hand-out.ts';
import type { Batch } from './interconnect.ts';

export function layBatch(deliveries: readonly Delivery[]): Pick<Batch, 'extent' | 'attempts' | 'records'> {
  const room = deliveries.reduce(
    (sum, { start, end, count }) => sum + end - start + count * (2 + idBytesMax),
    0,
  );
  const target = Buffer.allocUnsafe(room);
  const extent: IdRun[] = [];
  const attempts: [index: number, times: number][] = [];
  let count = 0;
  let at = 0;
  for (const { reader, run, firstSeq, start, end, deliveryCount, ...delivery } of deliveries) {
    const { no } = reader.shard;
    extent.push({ shard: no, firstSeq, count: delivery.count });
    let seq = firstSeq;
    for (let from = start; from < end; from = recordEnd(run.buffer, from), seq += 1, count += 1) {
      at = copyWithId(run.buffer, from, { target, at, id: () => `${no}.${seq}` });
      if (deliveryCount > 1) attempts.push([count, deliveryCount - 1]);
    }
  }
  return { extent, attempts, records: { source: target, start: 0, end: at, count } };
}
