/** What a writer tells of groups that were durable before: that they are in the instance's tables. */
import type { GroupNumber, PartitionId } from './ids.ts';

export interface AppliedGroups {
  /** The tables have every group up to this one. */
  through: GroupNumber;
  /** Partitions of these groups that are too damaged to be emptied. */
  unusablePartitions: readonly PartitionId[];
}

/** What was done for it. */
export interface AppliedWork {
  transactions: number;
  /** Time of these, milliseconds. */
  ms: number;
  messages: number;
  /** Those that reached a table: the others were consumed before. */
  storedMessages: number;
}
