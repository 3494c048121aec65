/** The parts of a group that are written: of a transaction whose statements failed, only its gaps. */
import { decodeRanges, encodeRanges, mergeRanges } from './consumption.ts';
import type {
  ConsumptionDelta,
  EncodedOutcomes,
  Group,
  SqlOutcome,
  SqlTransaction,
} from './group-message.ts';

export interface GroupContent extends Pick<Group, 'blocks' | 'tableWrites' | 'outcomes'> {
  consumptionDeltas: (Omit<ConsumptionDelta, 'ranges'> & { ranges: Buffer })[];
}

/** Adds the transactions whose statements succeeded, and makes gaps of the numbers of those that failed. */
export function addSqlTransactions(
  { blocks, consumptionDeltas, tableWrites, outcomes }: GroupContent,
  { sqlTransactions, buffer }: Group,
  ended: readonly SqlOutcome[],
): GroupContent {
  const done = sqlTransactions.filter((_, index) => ended[index]!.failure === null);
  const failed = sqlTransactions.filter((_, index) => ended[index]!.failure !== null);
  const more = [
    ...done.flatMap(({ consumptionDeltas }) => consumptionDeltas),
    ...failed.flatMap(({ gapDeltas }) => gapDeltas),
  ];
  return {
    blocks: [...blocks, ...done.flatMap((each) => each.blocks)],
    consumptionDeltas: mergeDeltas([
      ...consumptionDeltas,
      ...more.map((delta) => ({ ...delta, ranges: Buffer.from(delta.ranges) })),
    ]),
    tableWrites: [...tableWrites, ...done.flatMap((each) => each.tableWrites)],
    outcomes: removeFailedOutcomes(failed, buffer, outcomes),
  };
}

/** A group has one row of consumption for a partition and subscriber. Bases cancel out: all count from the partition's first number. */
function mergeDeltas(deltas: GroupContent['consumptionDeltas']): GroupContent['consumptionDeltas'] {
  const byRow = Map.groupBy(deltas, ({ partition, subscriber }) => `${partition} ${subscriber}`);
  return [...byRow.values()].map((own) => {
    const first = own[0]!;
    if (own.length === 1) return first;
    const ranges = mergeRanges(own.flatMap((delta) => decodeRanges(delta.ranges, 0)));
    return { ...first, ranges: Buffer.from(encodeRanges(ranges, 0)) };
  });
}

/** Closes the gaps in the group's outcomes that transactions leave which did not commit. */
function removeFailedOutcomes(
  failed: readonly SqlTransaction[],
  buffer: SharedArrayBuffer,
  { offset, length, retiredThroughGroup }: EncodedOutcomes,
): EncodedOutcomes {
  const bytes = Buffer.from(buffer, 0, offset + length);
  let end = offset + length;
  const places = failed.flatMap(({ outcomeRange }) => outcomeRange ?? []).sort((a, b) => b.offset - a.offset);
  for (const place of places) {
    bytes.copyWithin(place.offset, place.offset + place.length, end);
    end -= place.length;
  }
  return { offset, length: end - offset, retiredThroughGroup };
}
