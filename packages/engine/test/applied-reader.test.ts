/** Reads of an instance's file while its tables are behind what is durable. */
import { expect, it } from 'vitest';
import { AppliedReader } from '../src/commit/applied-reader.ts';
import type { UnappliedGroup } from '../src/commit/group-commit.ts';
import type { Group } from '../src/model/group-message.ts';
import type { ReadOperation, ReadResults } from '../src/model/read-request.ts';

type Content = UnappliedGroup['message'];

function groupOf(groupNumber: number, content: Partial<Content>): UnappliedGroup {
  const message: Content = {
    sync: 'FULL',
    buffer: new SharedArrayBuffer(0),
    blocks: [],
    consumptionDeltas: [],
    outcomes: { offset: 0, length: 0, retiredThroughGroup: 0 },
    tableWrites: [],
    sqlTransactions: [],
    poolChanges: { create: [], assign: [], truncate: [] },
    ...content,
  };
  return { groupNumber, message };
}

const blockIn = (partition: number): Group['blocks'][number] => ({
  partition,
  firstSeq: 1,
  count: 1,
  offset: 0,
  length: 0,
  keepsConsumed: false,
});

const blocksOf = (partition: number): ReadOperation => ({
  kind: 'blocks',
  partition,
  fromSeq: 1,
  bytesMax: 1,
});
const due: ReadOperation = { kind: 'due', nowMs: 0, bytesMax: 1 };

/** Reads while these groups are not applied, and what they waited for. */
function setUp(...groups: UnappliedGroup[]) {
  const waits: number[] = [];
  const reads: ReadOperation['kind'][] = [];
  const file = {
    async read<R extends ReadOperation>(request: R): Promise<ReadResults[R['kind']]> {
      reads.push(request.kind);
      return { blocks: [], more: false } as unknown as ReadResults[R['kind']];
    },
    close: async () => undefined,
  };
  const writer = {
    async whenApplied(through: number): Promise<void> {
      waits.push(through);
      groups.splice(0, groups.findLastIndex(({ groupNumber }) => groupNumber <= through) + 1);
    },
  };
  return { waits, reads, reader: new AppliedReader({ file, unapplied: () => groups, writer }) };
}

it('waits for the last group that changed what it reads, and for no other', async () => {
  const { waits, reads, reader } = setUp(
    groupOf(5, { blocks: [blockIn(1)] }),
    groupOf(6, { blocks: [blockIn(1), blockIn(2)] }),
    groupOf(7, { tableWrites: [{ kind: 'unsubscribe', subscriber: 3 }] }),
    groupOf(8, { blocks: [blockIn(2)] }),
  );
  await reader.read(blocksOf(3));
  expect(waits).toEqual([]);
  await reader.read(blocksOf(1));
  expect(waits).toEqual([6]);
  await reader.read(blocksOf(1));
  await reader.read(due);
  expect(waits).toEqual([6, 7]);
  await reader.read(blocksOf(2));
  await reader.read(due);
  expect(waits).toEqual([6, 7, 8]);
  expect(reads).toHaveLength(6);
});

it('counts what transactions with statements write', async () => {
  const transaction = {
    statements: [],
    branch: undefined,
    blocks: [blockIn(3)],
    consumptionDeltas: [],
    tableWrites: [],
    outcomeRange: null,
    gapDeltas: [],
  };
  for (const read of [blocksOf(3), due]) {
    const { waits, reader } = setUp(groupOf(9, { sqlTransactions: [transaction] }));
    await reader.read(read);
    expect(waits).toEqual([9]);
  }
});
