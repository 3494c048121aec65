/** The order in which the processes of a cluster write to the unsharded file. */

import type { RecordedTime } from '../model/wait-recorder.ts';

/** A delivery is not synced: it takes a small part of the time of a commit. */
export type WriteKind = 'delivery' | 'commit';

export interface SharedFileLock {
  /** Runs `work` when it is this process's turn to write. `time`: of the session that waits for it, if one does. */
  run<T>(kind: WriteKind, work: () => T, time?: RecordedTime): Promise<T>;
  close(): Promise<void>;
}
