/** The writer and the reader of a file in memory, with the same ports as the real ones. Each answers after some simulated time. */
import type { WriterPort } from '../../src/commit/writer-port.ts';
import type {
  BlockEntry,
  ConsumptionDelta,
  Group,
  GroupResult,
  WriterState,
} from '../../src/model/group-message.ts';
import type { GroupNumber } from '../../src/model/ids.ts';
import type { FileReader, ReadOperation, ReadResults } from '../../src/model/read-request.ts';
import type { StorageFailure } from '../../src/model/storage-failure.ts';
import type { WriterListener } from '../../src/storage/threads/redo-writer.ts';
import type { MemoryFile } from './memory-file.ts';
import type { WrittenGroup } from './memory-tables.ts';
import type { Chance, SimulatedPorts } from './scheduler.ts';
import { SimulationFailure } from './simulation-failure.ts';

export interface MemoryWriterOptions {
  chance: Chance;
  faults: WriterFaults;
  /** By how many groups the tables may be behind what is durable. */
  lag: number;
}

export interface WriterFaults {
  /** The fault with which the next group fails. */
  next: 'diskFull' | 'syncFailed' | undefined;
}

/** How the file commits groups. */
class MemoryCommits {
  readonly #file: MemoryFile;
  readonly #chance: Chance;
  readonly #faults: WriterFaults;
  #state: WriterState = { generation: 0, failure: null };

  constructor(file: MemoryFile, chance: Chance, faults: WriterFaults) {
    this.#file = file;
    this.#chance = chance;
    this.#faults = faults;
  }

  /** Groups behind a failed one fail too, up to the first group that was built after the failure. */
  write(group: Group): Pick<GroupResult, 'failure' | 'sqlOutcomes'> {
    const { generation, failure: failed } = this.#state;
    if (failed !== null && (failed.fatal || group.generation === generation))
      return { failure: failed, sqlOutcomes: [] };
    const failure = this.#drawFailure(group);
    this.#state = { generation: group.generation, failure };
    return { failure, sqlOutcomes: failure === null ? this.#file.write(toWritten(group)) : [] };
  }

  #drawFailure(group: Group): StorageFailure | null {
    const fault = this.#faults.next;
    this.#faults.next = undefined;
    if (fault === undefined) return null;
    const fatal = fault === 'syncFailed';
    // After a failed sync it is undefined whether the group is on disk.
    if (fatal && this.#chance.percent(50)) this.#file.write(toWritten(group));
    const code = fatal ? 'STORAGE_FAILED' : 'STORAGE_FULL';
    return { code, message: `simulated: ${fault}`, details: {}, fatal };
  }

  /** Makes the answer to a group, and syncs a group that is to be synced. */
  answerTo(group: Group, { failure, sqlOutcomes }: ReturnType<MemoryCommits['write']>): GroupResult {
    const { groupNumber, generation } = group;
    if (failure === null && group.sync === 'FULL') this.#file.sync(groupNumber);
    return {
      kind: 'group',
      groupNumber,
      generation,
      failure,
      appliedThrough: 0,
      unusablePartitions: [],
      sqlOutcomes,
      maintenanceMs: 0,
      switchMs: 0,
      commitMs: 0,
      cpuUs: 0,
    };
  }
}

/**
 * The writer thread: writes one group after the other, each after some simulated time. The tables follow: with `lag` up to that many
 * groups later, unless a read waits for them. `lag` 0: with the answer.
 */
export class MemoryWriter implements WriterPort {
  readonly cpuUs = 0;
  readonly silentMs = 0;
  readonly redoPaths = [];
  hasClients = false;
  readonly #ports: SimulatedPorts;
  readonly #chance: Chance;
  readonly #commits: MemoryCommits;
  #listener: WriterListener | undefined;
  /** When the last answer is due, before which no later one may come. */
  #lastAnswerAtMs = 0;
  #freeAtMs = 0;
  readonly #file: MemoryFile;
  readonly #lag: number;

  constructor(file: MemoryFile, ports: SimulatedPorts, { chance, faults, lag }: MemoryWriterOptions) {
    this.#file = file;
    this.#ports = ports;
    this.#chance = chance;
    this.#lag = lag;
    this.#commits = new MemoryCommits(file, chance, faults);
  }

  attach(listener: WriterListener): void {
    this.#listener = listener;
  }

  send(group: Group): void {
    const nowMs = this.#ports.clock.monotonicMs();
    const writeAtMs = Math.max(nowMs, this.#freeAtMs) + this.#delayMs();
    this.#freeAtMs = writeAtMs;
    const answerAtMs = Math.max(this.#lastAnswerAtMs, writeAtMs + this.#delayMs());
    this.#lastAnswerAtMs = answerAtMs;
    let written: ReturnType<MemoryCommits['write']>;
    this.#ports.after(writeAtMs - nowMs, () => {
      written = this.#commits.write(group);
    });
    this.#ports.after(answerAtMs - nowMs, () => {
      this.#listener?.onResult(this.#commits.answerTo(group, written));
      this.#file.answeredThrough = group.groupNumber;
      this.#follow();
    });
  }

  /** Applies what is behind the lag. Some time passes before that, and more groups may be answered meanwhile. */
  #follow(): void {
    const lag = this.#lag === 0 ? 0 : this.#chance.below(this.#lag + 1);
    const through = this.#file.appliableBehind(lag);
    if (through === undefined) return;
    if (this.#lag === 0) this.#apply(through);
    else this.#ports.after(this.#delayMs(), () => this.#apply(through));
  }

  #apply(through: GroupNumber): void {
    this.#file.applyThrough(through);
    this.#listener?.onApplied({ through, unusablePartitions: [] });
  }

  whenApplied(through: GroupNumber): Promise<void> {
    return new Promise((resolve) =>
      this.#ports.after(this.#delayMs(), () => {
        this.#apply(through);
        resolve();
      }),
    );
  }

  #delayMs(): number {
    return this.#chance.percent(5) ? this.#chance.between(10, 100) : this.#chance.below(3);
  }

  executeStatement(): Promise<never> {
    return Promise.reject(new SimulationFailure('the writer in memory executes no statements'));
  }

  rollbackReservation(): void {}

  async close(): Promise<void> {}
}

function toWritten(group: Group): WrittenGroup {
  const copy = (offset: number, length: number) => Buffer.from(Buffer.from(group.buffer, offset, length));
  const blocksOf = (blocks: readonly BlockEntry[]) =>
    blocks.map(({ partition, firstSeq, count, offset, length }) => {
      return { partition, firstSeq, count, body: copy(offset, length) };
    });
  const deltasOf = (deltas: readonly ConsumptionDelta[]) =>
    deltas.map(({ partition, subscriber, ranges }) => {
      return { partition, subscriber, ranges: Uint8Array.from(ranges) };
    });
  return {
    groupNumber: group.groupNumber,
    poolChanges: group.poolChanges,
    blocks: blocksOf(group.blocks),
    deltas: group.consumptionDeltas.map(({ partition, subscriber, offset, length }) => {
      return { partition, subscriber, ranges: copy(offset, length) };
    }),
    tableWrites: group.tableWrites,
    sqlTransactions: group.sqlTransactions.map((transaction) => ({
      statements: transaction.statements,
      branch: transaction.branch,
      blocks: blocksOf(transaction.blocks),
      deltas: deltasOf(transaction.consumptionDeltas),
      tableWrites: transaction.tableWrites,
      gapDeltas: deltasOf(transaction.gapDeltas),
    })),
  };
}

/** Answers each read after some simulated time, with the content at that moment. */
export class MemoryReader implements FileReader {
  readonly #file: MemoryFile;
  readonly #ports: SimulatedPorts;
  readonly #chance: Chance;

  constructor(file: MemoryFile, ports: SimulatedPorts, chance: Chance) {
    this.#file = file;
    this.#ports = ports;
    this.#chance = chance;
  }

  read<R extends ReadOperation>(request: R): Promise<ReadResults[R['kind']]> {
    return new Promise((resolve) => {
      this.#ports.after(this.#chance.below(3), () => {
        const result = this.#file.read(request) as ReadResults[R['kind']];
        // The file may change while the answer is on its way.
        this.#ports.after(this.#chance.below(2), () => resolve(result));
      });
    });
  }

  async close(): Promise<void> {}
}
