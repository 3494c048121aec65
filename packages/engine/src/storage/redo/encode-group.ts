/**
 * The content of a record: one group, as the applier writes it to the tables. What most groups have, runs of messages and ranges of
 * consumption, is in a few fixed words each; the rest, rows of other tables and changes of the pool, is serialized by V8.
 *
 *     u32 blocks · u32 deltas · u32 outcomes' offset · u32 their bytes · f64 retired through group · u32 bytes of the rest · u32 body bytes
 *     blocks · deltas · rest · body
 */
import { deserialize, serialize } from 'node:v8';
import type { BlockEntry, ConsumptionDeltaEntry, Group } from '../../model/group-message.ts';
import { poolChangeCount } from '../../model/partitions.ts';

const headBytes = 32;
const blockBytes = 24;
const deltaBytes = 16;
/** Of a block's count. */
const keepsConsumedBit = 2 ** 31;

/** A group without what is decided anew each time that it is written: whether it counts as durable is in the record's header. */
export type LoggedGroup = Omit<Group, 'kind' | 'generation' | 'sync' | 'sqlTransactions' | 'groupNumber'>;

type Rest = Pick<Group, 'tableWrites' | 'poolChanges'>;

const nothing: Rest = { tableWrites: [], poolChanges: { create: [], assign: [], truncate: [] } };

/** The parts of the content, in order. The last one is a view of the group's buffer. */
export function encodeGroup(group: LoggedGroup): Uint8Array[] {
  const { blocks, consumptionDeltas: deltas, outcomes, tableWrites, poolChanges } = group;
  const hasRest = tableWrites.length + poolChangeCount(poolChanges) > 0;
  const rest = hasRest ? serialize({ tableWrites, poolChanges } satisfies Rest) : undefined;
  const bodyBytes = bodyBytesOf(group);
  const head = Buffer.allocUnsafe(headBytes + blocks.length * blockBytes + deltas.length * deltaBytes);
  head.writeUInt32LE(blocks.length, 0);
  head.writeUInt32LE(deltas.length, 4);
  head.writeUInt32LE(outcomes.offset, 8);
  head.writeUInt32LE(outcomes.length, 12);
  head.writeDoubleLE(outcomes.retiredThroughGroup, 16);
  head.writeUInt32LE(rest?.length ?? 0, 24);
  head.writeUInt32LE(bodyBytes, 28);
  let at = headBytes;
  for (const { partition, firstSeq, count, offset, length, keepsConsumed } of blocks) {
    head.writeUInt32LE(partition, at);
    head.writeDoubleLE(firstSeq, at + 4);
    head.writeUInt32LE(keepsConsumed ? count + keepsConsumedBit : count, at + 12);
    head.writeUInt32LE(offset, at + 16);
    head.writeUInt32LE(length, at + 20);
    at += blockBytes;
  }
  for (const { partition, subscriber, offset, length } of deltas) {
    head.writeUInt32LE(partition, at);
    head.writeUInt32LE(subscriber, at + 4);
    head.writeUInt32LE(offset, at + 8);
    head.writeUInt32LE(length, at + 12);
    at += deltaBytes;
  }
  const body = new Uint8Array(group.buffer, 0, bodyBytes);
  return rest === undefined ? [head, body] : [head, rest, body];
}

/** How much of the group's buffer it uses. */
function bodyBytesOf({ blocks, consumptionDeltas, outcomes }: LoggedGroup): number {
  let end = outcomes.offset + outcomes.length;
  for (const { offset, length } of blocks) end = Math.max(end, offset + length);
  for (const { offset, length } of consumptionDeltas) end = Math.max(end, offset + length);
  return end;
}

/** `content`: what stood behind a record's header, whose CRC was right. The group has views of it. */
export function decodeGroup(content: Buffer): LoggedGroup {
  const blockCount = content.readUInt32LE(0);
  const deltaCount = content.readUInt32LE(4);
  const restBytes = content.readUInt32LE(24);
  let at = headBytes;
  const blocks: BlockEntry[] = [];
  for (let left = blockCount; left > 0; left -= 1, at += blockBytes) {
    const count = content.readUInt32LE(at + 12);
    const keepsConsumed = count >= keepsConsumedBit;
    blocks.push({
      partition: content.readUInt32LE(at),
      firstSeq: content.readDoubleLE(at + 4),
      count: keepsConsumed ? count - keepsConsumedBit : count,
      offset: content.readUInt32LE(at + 16),
      length: content.readUInt32LE(at + 20),
      keepsConsumed,
    });
  }
  const consumptionDeltas: ConsumptionDeltaEntry[] = [];
  for (let left = deltaCount; left > 0; left -= 1, at += deltaBytes) {
    consumptionDeltas.push({
      partition: content.readUInt32LE(at),
      subscriber: content.readUInt32LE(at + 4),
      offset: content.readUInt32LE(at + 8),
      length: content.readUInt32LE(at + 12),
    });
  }
  const rest = restBytes === 0 ? nothing : (deserialize(content.subarray(at, at + restBytes)) as Rest);
  at += restBytes;
  const bodyBytes = content.readUInt32LE(28);
  const buffer = new SharedArrayBuffer(bodyBytes);
  content.copy(Buffer.from(buffer), 0, at, at + bodyBytes);
  return {
    buffer,
    blocks,
    consumptionDeltas,
    outcomes: {
      offset: content.readUInt32LE(8),
      length: content.readUInt32LE(12),
      retiredThroughGroup: content.readDoubleLE(16),
    },
    ...rest,
  };
}
