/** The kinds of ids are numbers at run time. The compiler refuses one kind where another is meant, which `tsc` checks here. */
import { expect, test } from 'vitest';
import type { GroupNumber, LogId, PartitionId, PayloadId, QueueId, SubscriberId } from '../src/model/ids.ts';
import type { PayloadReference } from '../src/model/payload-references.ts';
import type { QueueRow } from '../src/model/queue-row.ts';
import { partitionTableName } from '../src/storage/instance-file/tables/partition-table.ts';

test('an id of one kind is refused where another kind is meant', () => {
  const queueId: QueueId = 1;
  const logId: LogId = 2;
  const partition: PartitionId = 3;
  const subscriber: SubscriberId = 4;
  const payloadId: PayloadId = 5;
  const groupNumber: GroupNumber = 6;

  const reference: PayloadReference = { queueId, shard: logId, seq: 0, payloadId, bytes: 0 };
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
