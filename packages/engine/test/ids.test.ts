/** Ids are branded numbers. The compiler refuses one brand where another is expected, which `tsc` checks in this file. */
import { expect, test } from 'vitest';
import type {
  AttachmentNumber,
  BatchNumber,
  CatalogChangeNumber,
  ClaimNumber,
  CommitNumber,
  ConnectionNumber,
  CopyNumber,
  Epoch,
  GlobalTransactionNumber,
  GroupNumber,
  HolderId,
  HoldNumber,
  InstanceId,
  LinkGeneration,
  LockToken,
  LogId,
  PartitionId,
  PayloadId,
  Pid,
  ProducerNumber,
  QueueId,
  RemoteSessionNumber,
  RequestNumber,
  Seq,
  SessionNumber,
  ShardNumber,
  SlotNumber,
  SubscriberId,
  TenureNumber,
  ThreadSessionNumber,
  TransactionNumber,
  UploadNumber,
  WriterGeneration,
} from '../src/model/ids.ts';
import {
  laneLogId,
  originalLogId,
  owningInstance,
  priorityOfLog,
  returnedLogId,
  shardNumber,
} from '../src/model/log-id.ts';
import { type PayloadReference, PayloadReferences } from '../src/model/payload-references.ts';
import type { QueueRow } from '../src/model/queue-row.ts';
import { partitionTableName } from '../src/storage/instance-file/tables/partition-table.ts';

const queueId: QueueId = 1;
const partition: PartitionId = 3;
const subscriber: SubscriberId = 4;
const payloadId: PayloadId = 5;
const groupNumber: GroupNumber = 6;
const instance: InstanceId = 7;
const seq: Seq = 8;

test('an id of one kind is refused where another kind is expected', () => {
  const logId: LogId = 2;
  const reference: PayloadReference = { queueId, shard: logId, seq, payloadId, bytes: 0 };
  // @ts-expect-error: the ids of the queue and of the payload are swapped
  reference.queueId = payloadId;
  // @ts-expect-error: a partition is no log
  reference.shard = partition;
  const row: Pick<QueueRow, 'queueId'> = { queueId };
  // @ts-expect-error: a subscriber is no queue
  row.queueId = subscriber;
  // @ts-expect-error: a group is no partition
  expect(partitionTableName(groupNumber)).toEqual(expect.any(String));
  expect(partitionTableName(partition)).toEqual(expect.any(String));
});

test('two ids in the wrong order are refused', () => {
  const references = new PayloadReferences();
  const logId: LogId = 2;
  expect(references.find(queueId, logId, seq)).toBeUndefined();
  // @ts-expect-error: the log and the sequence number are swapped
  expect(references.find(queueId, seq, logId)).toBeUndefined();
  // @ts-expect-error: the queue and the log are swapped
  expect(references.find(logId, queueId, seq)).toBeUndefined();
});

test('a computed id has its kind', () => {
  const shard = shardNumber(instance, 0);
  const logId = laneLogId(shard, 3);
  // @ts-expect-error: an instance is no shard
  laneLogId(instance, 3);
  // @ts-expect-error: a shard is no log, though it has the number of its first one
  expect(returnedLogId(shard)).toBe(returnedLogId(laneLogId(shard, 0)));
  // @ts-expect-error: an instance is no log
  priorityOfLog(owningInstance(logId));
  // @ts-expect-error: a log is no instance
  shardNumber(originalLogId(returnedLogId(logId)), 0);
  // @ts-expect-error: a log is no queue
  const queue: QueueId = laneLogId(shard, 3);
  expect(queue).toBe(logId);
});

test('an id of one kind cannot be looked up or compared among ids of another', () => {
  const logId = laneLogId(shardNumber(instance, 0), 0);
  const logs = new Map([[logId, 'the first log']]);
  // @ts-expect-error: a queue is no log
  expect(logs.get(queueId)).toBeUndefined();
  // @ts-expect-error: a log is never a queue
  expect(logId === queueId).toBe(false);
  // @ts-expect-error: ids of logs are no sequence numbers
  const seqs: readonly Seq[] = [...logs.keys()];
  expect(seqs).toEqual([logId]);
});

interface Kinds {
  attachment: AttachmentNumber;
  batch: BatchNumber;
  catalogChange: CatalogChangeNumber;
  claim: ClaimNumber;
  commit: CommitNumber;
  connection: ConnectionNumber;
  copy: CopyNumber;
  epoch: Epoch;
  globalTransaction: GlobalTransactionNumber;
  group: GroupNumber;
  hold: HoldNumber;
  holder: HolderId;
  instance: InstanceId;
  linkGeneration: LinkGeneration;
  lockToken: LockToken;
  log: LogId;
  partition: PartitionId;
  payload: PayloadId;
  pid: Pid;
  producer: ProducerNumber;
  queue: QueueId;
  remoteSession: RemoteSessionNumber;
  request: RequestNumber;
  seq: Seq;
  session: SessionNumber;
  shard: ShardNumber;
  slot: SlotNumber;
  subscriber: SubscriberId;
  tenure: TenureNumber;
  threadSession: ThreadSessionNumber;
  transaction: TransactionNumber;
  upload: UploadNumber;
  writerGeneration: WriterGeneration;
}

/** The pairs of kinds of which one is accepted where the other is expected. */
type Accepted<Kind extends keyof Kinds = keyof Kinds> = {
  [A in Kind]: { [B in Exclude<keyof Kinds, A>]: Kinds[A] extends Kinds[B] ? `${A} as ${B}` : never }[Exclude<
    keyof Kinds,
    A
  >];
}[Kind];

test('no kind is accepted where any other is expected', () => {
  const accepted: [Accepted] extends [never] ? 'none' : Accepted = 'none';
  expect(accepted).toBe('none');
});

test('a plain number, as read from a file or a message, is accepted as any kind, and any kind as a number', () => {
  const read: number = JSON.parse('9');
  const found: LogId = read;
  const count: number = found + 1;
  expect(count).toBe(10);
});
