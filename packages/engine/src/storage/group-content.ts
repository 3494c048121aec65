/** What of a group is to be written, once it is known how the application's statements in it ended. */
import { decodeRanges, encodeRanges, mergeRanges } from '../core/consumption.ts';
import type { Delta, Group, OutcomeEntries, SqlOutcome, SqlTransaction } from './group-message.ts';

export interface GroupContent extends Pick<Group, 'blocks' | 'side' | 'outcomes'> {
  deltas: (Omit<Delta, 'ranges'> & { ranges: Buffer })[];
}

export function contentOf(group: Group, ended: readonly SqlOutcome[]): GroupContent {
  const deltas = group.deltas.map(({ partition, subscriber, offset, length }) => ({
    partition,
    subscriber,
    ranges: Buffer.from(group.buffer, offset, length),
  }));
  const { blocks, side, outcomes, sql } = group;
  if (sql.length === 0) return { blocks, deltas, side, outcomes };
  const done = sql.filter((_, index) => ended[index]!.failure === null);
  const failed = sql.filter((_, index) => ended[index]!.failure !== null);
  const more = [...done.flatMap((each) => each.deltas), ...failed.flatMap((each) => each.gaps)];
  return {
    blocks: [...blocks, ...done.flatMap((each) => each.blocks)],
    deltas: joined([...deltas, ...more.map((delta) => ({ ...delta, ranges: Buffer.from(delta.ranges) }))]),
    side: [...side, ...done.flatMap((each) => each.side)],
    outcomes: without(failed, group.buffer, outcomes),
  };
}

/** A group has one row of consumption for a partition and subscriber. Bases cancel out: all count from the partition's first number. */
function joined(deltas: GroupContent['deltas']): GroupContent['deltas'] {
  const byRow = Map.groupBy(deltas, ({ partition, subscriber }) => `${partition} ${subscriber}`);
  return [...byRow.values()].map((own) => {
    const first = own[0]!;
    if (own.length === 1) return first;
    const ranges = mergeRanges(own.flatMap((delta) => decodeRanges(delta.ranges, 0)));
    return { ...first, ranges: Buffer.from(encodeRanges(ranges, 0)) };
  });
}

/** Closes the gaps in the group's outcomes that transactions leave which did not commit. */
function without(
  failed: readonly SqlTransaction[],
  buffer: SharedArrayBuffer,
  { offset, length, retired }: OutcomeEntries,
): OutcomeEntries {
  const bytes = Buffer.from(buffer, 0, offset + length);
  let end = offset + length;
  const places = failed.flatMap(({ outcome }) => outcome ?? []).sort((a, b) => b.offset - a.offset);
  for (const place of places) {
    bytes.copyWithin(place.offset, place.offset + place.length, end);
    end -= place.length;
  }
  return { offset, length: end - offset, retired };
}
