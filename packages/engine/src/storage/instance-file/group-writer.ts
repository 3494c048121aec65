/**
 * Commits an instance's groups one after the other and syncs each: the code that the writer thread and the writer process share.
 *
 * Groups behind a failed one were numbered as if it had succeeded, so they fail too, until a group with a higher generation shows
 * that the session thread has handled the failure. After a failed sync the content of the disk is unknown, so nothing more is
 * written until the file is opened again.
 */

import type { Group, GroupResult, StatementAnswer, WriterState } from '../../model/group-message.ts';
import type { WriterGeneration } from '../../model/ids.ts';
import type { CallingThread, Clock } from '../../model/ports.ts';
import type { SqlStatement } from '../../model/sql-statement.ts';
import type { StorageFailure } from '../../model/storage-failure.ts';
import type { EmulatedDisk } from '../emulated-disk.ts';
import { toStorageFailure } from '../sqlite/storage-failure.ts';
import type { InstanceFile, StatementGuard, StatementSteps } from './instance-file.ts';

export interface GroupWriterOptions {
  path: string;
  /** Each sync takes at least as long as on it; undefined: the disk is as it is. */
  emulatedDisk: EmulatedDisk | undefined;
  clock: Clock;
  thread: CallingThread;
  /** The file took its last group: a checkpoint failed after it was acknowledged. */
  onFileFailed(failure: StorageFailure): void;
}

/** CPU time of a writer so far, microseconds: all that its thread has used counts. */
export function cpuUsOf(thread: CallingThread): number {
  const { user, system } = thread.cpuUsage();
  return user + system;
}

export class GroupWriter {
  readonly #file: InstanceFile;
  readonly #options: GroupWriterOptions;
  #generation: WriterGeneration;
  #failure: StorageFailure | null;

  constructor(file: InstanceFile, options: GroupWriterOptions, { generation, failure }: WriterState) {
    this.#file = file;
    this.#options = options;
    this.#generation = generation;
    this.#failure = failure;
  }

  /** Commits a group, or refuses it, calls `answer`, and then checkpoints the file if that is due. */
  write(group: Group, answer: (result: GroupResult) => void, statements?: StatementSteps): void {
    if (this.#failure !== null && (this.#failure.fatal || group.generation === this.#generation)) {
      answer(this.#refusalOf(group, this.#failure));
      return;
    }
    this.#generation = group.generation;
    const result = this.#commit(group, statements);
    this.#failure = result.failure;
    answer(result);
    if (this.#failure === null) this.#checkpoint(group);
  }

  /** Fails a group, and so those behind it, without writing anything. */
  refuse(group: Group, failure: StorageFailure): GroupResult {
    this.#file.rollBackStatements();
    if (this.#failure?.fatal !== true) this.#failure = failure;
    this.#generation = group.generation;
    return this.#refusalOf(group, this.#failure ?? failure);
  }

  executeStatement(statement: SqlStatement, guard: StatementGuard): StatementAnswer {
    try {
      return { outcome: this.#file.executeStatement(statement, guard), storageFailure: null };
    } catch (error) {
      const storageFailure = toStorageFailure(error, this.#options.path);
      if (storageFailure.fatal) this.#failure = storageFailure;
      return { outcome: { results: [], failure: null }, storageFailure };
    }
  }

  #refusalOf({ groupNumber, generation }: Group, failure: StorageFailure): GroupResult {
    return {
      kind: 'group',
      groupNumber,
      generation,
      failure,
      appliedThrough: 0,
      unusablePartitions: [],
      sqlOutcomes: [],
      maintenanceMs: 0,
      commitMs: 0,
      cpuUs: cpuUsOf(this.#options.thread),
    };
  }

  #commit(group: Group, statements: StatementSteps | undefined): GroupResult {
    const { path, emulatedDisk, clock, thread } = this.#options;
    const startedAt = clock.monotonicMs();
    let maintainedAt = startedAt;
    let failure: GroupResult['failure'] = null;
    let done: Pick<GroupResult, 'unusablePartitions' | 'sqlOutcomes'> = {
      unusablePartitions: [],
      sqlOutcomes: [],
    };
    const onMaintained = () => {
      maintainedAt = clock.monotonicMs();
    };
    const disk = group.sync === 'FULL' ? emulatedDisk : undefined;
    try {
      done = this.#file.commit(group, { onMaintained, onSyncing: () => disk?.begin() }, statements);
      disk?.end();
    } catch (error) {
      failure = toStorageFailure(error, path);
    }
    return {
      kind: 'group',
      groupNumber: group.groupNumber,
      generation: group.generation,
      failure,
      appliedThrough: failure === null ? group.groupNumber : 0,
      ...done,
      maintenanceMs: maintainedAt - startedAt,
      commitMs: clock.monotonicMs() - maintainedAt,
      cpuUs: cpuUsOf(thread),
    };
  }

  /** A failure does not affect the group, which is acknowledged, but nothing may follow it. */
  #checkpoint(group: Group): void {
    try {
      this.#file.checkpoint(group);
    } catch (error) {
      this.#failure = { ...toStorageFailure(error, this.#options.path), fatal: true };
      this.#options.onFileFailed(this.#failure);
    }
  }
}
