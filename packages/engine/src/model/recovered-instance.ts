/** The content of an instance's file when it was opened. */

import type { RecoveredDelayClock } from './delay-clock.ts';
import type { AttemptRow } from './delivery-attempt.ts';
import type { DeliveryMark } from './delivery-mark.ts';
import type { EvacuatedRow } from './evacuated-message.ts';
import type { ForwardedInRow, ForwardedOutRow } from './forwarding-row.ts';
import type { Epoch, GroupNumber, LogId, PartitionId, QueueId, Seq, SubscriberId } from './ids.ts';
import type { RecoveredPayloads } from './payload-chunk.ts';
import type { RecoveredServices } from './service-rows.ts';
import type { GroupOutcomeRow } from './session-outcome.ts';
import type { SubscriptionRow } from './subscriber-row.ts';
import type { DecisionRow, PreparedBranchRow } from './xa-rows.ts';

export interface RecoveredPartition {
  partition: PartitionId;
  queueId: QueueId;
  shard: LogId;
  firstSeq: Seq;
  /** End of the last message in it, exclusive. */
  endSeq: Seq;
  bytes: number;
  /** Number of messages in it. All other numbers in its range are gaps. */
  messages: number;
  /** Encoded ranges of what is terminal, as in a delta, in any order; subscriber 0 means for everyone. */
  terminalDeltas: { subscriber: SubscriberId; ranges: Uint8Array }[];
  attempts: AttemptRow[];
  /** Why it cannot be relied on, in words; null while all is well. */
  damageReason: string | null;
  /** Set if it was still filling when it was damaged: whether this number and those above it are messages is not known. */
  unknownFromSeq: Seq | null;
}

/** The redo log of an instance whose groups are all applied. */
export interface RecoveredRedoLog {
  logId: Uint8Array;
  segments: { number: number; bytes: number }[];
  /** Of the segment that was begun last. */
  turn: number;
  /** The last record. */
  end: { group: GroupNumber; crc: number };
  /** The last group in the tables: that of the last record, or a later one that ran statements of the application. */
  inTables: GroupNumber;
}

export interface RecoveredInstance {
  epoch: Epoch;
  redo: RecoveredRedoLog;
  freePartitions: PartitionId[];
  /** Free, but damaged: never used again. */
  unusablePartitions: PartitionId[];
  /** Ordered by shard, then by sequence. */
  partitions: RecoveredPartition[];
  sessionOutcomes: GroupOutcomeRow[];
  subscriptions: SubscriptionRow[];
  forwardedOut: ForwardedOutRow[];
  forwardedIn: ForwardedInRow[];
  /** Number of delayed messages by queue. */
  delayedCounts: Map<QueueId, number>;
  nextDueAtMs: number | null;
  delayClock: RecoveredDelayClock;
  evacuated: EvacuatedRow[];
  /** Null unless the instance was closed: any message may have been delivered by then. */
  deliveryMarks: DeliveryMark[] | null;
  payloads: RecoveredPayloads;
  preparedBranches: PreparedBranchRow[];
  decisions: DecisionRow[];
  services: RecoveredServices;
  /** Messages of nonpersistent queues that the previous opening had at its last sample; they were lost when it ended. */
  lostMessages: LostMessages[];
}

export interface LostMessages {
  queueId: QueueId;
  /** Undelivered or held then: exact after an orderly close, else as of up to a sample interval before the end. */
  messages: number;
}
