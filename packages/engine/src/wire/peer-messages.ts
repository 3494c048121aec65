/**
 * Messages between instances about forwarding and distributed transactions, over the sockets on which they are served
 * (`protocol.ts`). Calls are rare and travel as JSON. A batch is a frame of its own:
 *
 *     u32 sender · f64 epoch of the sender · u32 connection number · u32 queue · u32 shard · f64 batch number
 *     f64 sent at, monotonic ms · u32 count, {u32 index, u32 prior attempts} · u32 count, id runs (`model/id-runs.ts`)
 *     u32 messages · records
 */

import { limits } from '../api/limits.ts';
import type { BatchSender, ForwardedBatch, ShardKey } from '../model/forwarded-batch.ts';
import type { HomeCall } from '../model/home-calls.ts';
import { idRunBytes, readIdRuns } from '../model/id-runs.ts';
import type { InstanceId, QueueId } from '../model/ids.ts';
import { recordEnd } from '../model/message-record.ts';
import type { BodyReader } from './body-reader.ts';
import { parseBoundedJson } from './bounded-json.ts';
import type { FrameWriter } from './frame-writer.ts';
import { protocolError } from './protocol.ts';
import { statementFromJson, statementToJson } from './sql-json.ts';
import type { WirePassedOnCall } from './xa-calls.ts';

export type PeerCall =
  /** Answered once a batch has come, or after `cancel-request`. */
  | { call: 'request-batch'; peer: InstanceId; queueId: QueueId; messagesMax: number }
  | { call: 'cancel-request'; peer: InstanceId; queueId: QueueId }
  /** Answered with a `ReceiverReport`; with `whenDelivered` not before `allDelivered` is true. */
  | ({ call: 'report-received'; sender: BatchSender; whenDelivered: boolean } & ShardKey)
  | ({ call: 'recall' } & ShardKey)
  /** Answered with a `HomeAnswer`. */
  | { call: 'home'; ofHome: HomeCall }
  /** About a branch of the called instance. Answered with a `PassedOnAnswer`. */
  | { call: 'branch'; ofBranch: WirePassedOnCall };

/** Statements that are shipped have values that JSON has no literal for. */
export function peerCallToJson(call: PeerCall): string {
  if (call.call !== 'home' || call.ofHome.call !== 'ship') return JSON.stringify(call);
  const { work } = call.ofHome;
  const statements = work.statements.map(statementToJson);
  return JSON.stringify({ ...call, ofHome: { ...call.ofHome, work: { ...work, statements } } });
}

/** Throws `PROTOCOL_INVALID`, `SQL_INVALID`. */
export function peerCallFromJson(json: string): PeerCall {
  const call = parseBoundedJson<PeerCall>(json, 'A call between instances');
  if (call.call !== 'home' || call.ofHome.call !== 'ship') return call;
  const { work } = call.ofHome;
  const statements = (work.statements as unknown as string[]).map(statementFromJson);
  return { ...call, ofHome: { ...call.ofHome, work: { ...work, statements } } };
}

export interface ReceivedBatch {
  sender: BatchSender;
  batch: ForwardedBatch;
  /** Time on the monotonic clock, which all processes of the machine share. */
  sentAtMs: number;
}

export function writeBatch(writer: FrameWriter, { sender, batch, sentAtMs }: ReceivedBatch): void {
  const { queueId, shard, batchNumber, priorAttempts, sourceRuns, records } = batch;
  writer.u32(sender.instance);
  writer.f64(sender.epoch);
  writer.u32(sender.connectionNumber);
  writer.u32(queueId);
  writer.u32(shard);
  writer.f64(batchNumber);
  writer.f64(sentAtMs);
  writer.u32(priorAttempts.length);
  for (const [index, times] of priorAttempts) {
    writer.u32(index);
    writer.u32(times);
  }
  writer.u32(sourceRuns.length);
  writer.idRuns(sourceRuns);
  writer.u32(records.count);
  writer.sharedBytes(records.source, records.start, records.end);
}

/** Throws `PROTOCOL_INVALID`. */
export function readBatch(body: BodyReader): ReceivedBatch {
  const sender = { instance: body.u32(), epoch: body.f64(), connectionNumber: body.u32() };
  const shardKey = { queueId: body.u32(), shard: body.u32() };
  const batchNumber = body.f64();
  const sentAtMs = body.f64();
  const priorAttempts = Array.from({ length: readCount(body, 8) }, () => [body.u32(), body.u32()] as const);
  const sourceRunsBytes = readCount(body, idRunBytes) * idRunBytes;
  const sourceRunsStart = body.skip(sourceRunsBytes);
  const sourceRuns = readIdRuns(body.source, sourceRunsStart, sourceRunsStart + sourceRunsBytes);
  const count = body.u32();
  assertBatchCount(count);
  const records = { source: body.source, start: body.offset, end: body.end, count };
  let end = records.start;
  for (let i = 0; i < count; i += 1) {
    end = end + 4 > records.end ? Number.NaN : recordEnd(body.source, end);
  }
  if (end !== records.end) throw protocolError('The records of a batch do not end with its frame');
  return { sender, batch: { ...shardKey, batchNumber, priorAttempts, sourceRuns, records }, sentAtMs };
}

/**
 * Reads the length of a list whose entries have `entryBytes` each: at most one for each message that a batch can have. The frame must
 * hold all of them.
 */
function readCount(body: BodyReader, entryBytes: number): number {
  const count = body.u32();
  assertBatchCount(count);
  if (count * entryBytes > body.bytesLeft) throw protocolError('A batch ends within a list');
  return count;
}

function assertBatchCount(count: number): void {
  if (count > limits.forwardBatchMessagesMax)
    throw protocolError(`A batch announces ${count} items of one kind`);
}
