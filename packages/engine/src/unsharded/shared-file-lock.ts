/** The order in which the processes of a cluster write to the unsharded file. */

/** A delivery is not synced: it takes a small part of the time of a commit. */
export type WriteKind = 'delivery' | 'commit';

export interface SharedFileLock {
  /** Runs `work` when it is this process's turn to write. */
  run<T>(kind: WriteKind, work: () => T): Promise<T>;
  close(): Promise<void>;
}
