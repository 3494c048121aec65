/**
 * What instances say to each other about forwarding, over the sockets that they serve (`remote/protocol.ts`). Questions
 * are rare and travel as JSON; a batch is a frame of its own:
 *
 *     u32 giver · f64 its epoch · u32 connection · u32 queue · u32 shard · f64 batch · f64 sent at, monotonic ms
 *     u32 count, {u32 index, u32 times} · u32 count, id runs (`storage/id-runs.ts`) · u32 messages · records
 */
import type { Batch, Giver, ShardName } from '../../instance/forwarding/interconnect.ts';
import { readIdRuns } from '../../storage/id-runs.ts';
import { recordEnd } from '../../storage/message-record.ts';
import type { BodyReader } from '../remote/body-reader.ts';
import type { Outbox } from '../remote/outbox.ts';
import { protocolError } from '../remote/protocol.ts';

export type PeerCall =
  /** Answered once a batch came or `unwant` was said. */
  | { call: 'want'; peer: number; queueId: number; max: number }
  | { call: 'unwant'; peer: number; queueId: number }
  /** Answered with a `LoanReport`; `whenDelivered`: not before it says so. */
  | ({ call: 'report'; giver: Giver; whenDelivered: boolean } & ShardName)
  | ({ call: 'recall' } & ShardName);

const idRunBytes = 16;

export function writeBatch(outbox: Outbox, giver: Giver, batch: Batch, sentAtMs: number): void {
  const { queueId, shard, no, attempts, extent, records } = batch;
  outbox.u32(giver.instance);
  outbox.f64(giver.epoch);
  outbox.u32(giver.connection);
  outbox.u32(queueId);
  outbox.u32(shard);
  outbox.f64(no);
  outbox.f64(sentAtMs);
  outbox.u32(attempts.length);
  for (const [index, times] of attempts) {
    outbox.u32(index);
    outbox.u32(times);
  }
  outbox.u32(extent.length);
  outbox.idRuns(extent);
  outbox.u32(records.count);
  outbox.bytes(records.source, records.start, records.end);
}

/** Throws `PROTOCOL_INVALID`. */
export function readBatch(body: BodyReader): { giver: Giver; batch: Batch; sentAtMs: number } {
  const giver = { instance: body.u32(), epoch: body.f64(), connection: body.u32() };
  const name = { queueId: body.u32(), shard: body.u32() };
  const no = body.f64();
  const sentAtMs = body.f64();
  const attempts = Array.from({ length: counted(body, 8) }, () => [body.u32(), body.u32()] as const);
  const extentBytes = counted(body, idRunBytes) * idRunBytes;
  const extentAt = body.skip(extentBytes);
  const extent = readIdRuns(body.source, extentAt, extentAt + extentBytes);
  const count = body.u32();
  const records = { source: body.source, start: body.at, end: body.end, count };
  let at = records.start;
  for (let i = 0; i < count; i += 1) at = at + 4 > records.end ? Number.NaN : recordEnd(body.source, at);
  if (at !== records.end) throw protocolError('The messages of a batch do not end where it does');
  return { giver, batch: { ...name, no, attempts, extent, records }, sentAtMs };
}

/** A number of entries of so many bytes each, which the frame must hold. */
function counted(body: BodyReader, bytesEach: number): number {
  const count = body.u32();
  if (count * bytesEach > body.left) throw protocolError('A batch ends within a list');
  return count;
}
