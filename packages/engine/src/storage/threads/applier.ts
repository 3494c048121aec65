/**
 * Whoever owns the instance's file and writes to it what the redo log has: a thread (`applier-thread.ts`), and from the application's
 * first statement on a process (`writer-process-client.ts`).
 */
import type { AppliedGroups, AppliedWork } from '../../model/applied-groups.ts';
import type { GroupNumber } from '../../model/ids.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import type { SegmentRow } from '../redo/segment-files.ts';

export interface Applier {
  /** CPU time so far, microseconds. */
  readonly cpuUs: number;
  /** Milliseconds since the last answer arrived, or since the first one became due; 0 if none is due. */
  readonly silentMs: number;
  /**
   * Writes the groups up to this one to the tables; all of them are durable. Rejects with a `TransientFailure`, or with why nothing more
   * can be applied.
   */
  apply(through: GroupNumber): Promise<AppliedGroups & { work: AppliedWork }>;
  /** Makes a further segment of the log, and lists it. Rejects as `apply` does. */
  addSegment(segment: SegmentRow): Promise<void>;
  /** Resolves when the file is closed; requests before are answered first. */
  close(): Promise<void>;
}

/** A failure that leaves the file as it was, such as a full disk: the same may succeed later. */
export class TransientFailure extends Error {
  readonly failure: StorageFailure;

  constructor(failure: StorageFailure) {
    super(failure.message);
    this.failure = failure;
  }
}
