/**
 * Commits groups on the thread of the sessions, while the writer thread waits with the file open. The file stays open here too
 * from the first turn on; `adaptive-writer.ts` says whose turn it is to write.
 */

import type { Group, GroupResult, WriterState } from '../../model/group-message.ts';
import type { Epoch } from '../../model/ids.ts';
import type { InstancePorts } from '../../model/ports.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import { type EmulatedDisk, openEmulatedDisk } from '../emulated-disk.ts';
import { GroupWriter } from '../instance-file/group-writer.ts';
import { InstanceFile } from '../instance-file/instance-file.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';
import type { WriterOptions } from './writer-thread-client.ts';

export interface SessionThreadWriterOptions
  extends WriterOptions,
    Pick<InstancePorts, 'clock' | 'machineClock' | 'thread'> {
  /** Epoch of the opening, which is recovered already. */
  epoch: Epoch;
}

export class SessionThreadWriter {
  /** The file can no longer be written: groups are refused from now on. */
  onFailed: ((failure: StorageFailure) => void) | undefined;
  readonly #options: SessionThreadWriterOptions;
  #file: InstanceFile | undefined;
  #emulatedDisk: EmulatedDisk | undefined;
  #writer: GroupWriter | undefined;

  constructor(options: SessionThreadWriterOptions) {
    this.#options = options;
  }

  /** Begins a turn. `state`: how the last group of the turn before ended. */
  resume(state: WriterState): void {
    const { path, epoch, clock, thread, logBytesMax, emulatedSync } = this.#options;
    try {
      this.#file ??= new InstanceFile(path, clock, logBytesMax);
      this.#emulatedDisk ??= openEmulatedDisk(emulatedSync, this.#options);
      this.#file.takeOver(epoch);
      const onFileFailed = (failure: StorageFailure) => this.onFailed?.(failure);
      this.#writer = new GroupWriter(
        this.#file,
        { path, emulatedDisk: this.#emulatedDisk, clock, thread, onFileFailed },
        state,
      );
    } catch (error) {
      this.#writer = undefined;
      this.onFailed?.({ ...toStorageFailure(error, path), fatal: true });
    }
  }

  /** Writes a group and syncs it; `answer` is called before this returns. Does nothing after `onFailed`. */
  write(group: Group, answer: (result: GroupResult) => void): void {
    this.#writer?.write(group, answer);
  }

  close(): void {
    this.#file?.close();
    this.#emulatedDisk?.close();
    this.#file = undefined;
    this.#writer = undefined;
  }
}
