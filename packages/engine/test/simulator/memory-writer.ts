/** The writer and the reader of a file in memory, beneath the same ports as the real ones: each answers after a simulated while. */
import type { WriterPort } from '../../src/commit/writer-port.ts';
import type {
  BlockEntry,
  ConsumptionDelta,
  Group,
  GroupResult,
  SqlOutcome,
} from '../../src/model/group-message.ts';
import type { FileReader, ReadOperation, ReadResults } from '../../src/model/read-request.ts';
import type { StorageFailure } from '../../src/model/storage-failure.ts';
import type { MemoryFile, WrittenGroup } from './memory-file.ts';
import type { Chance, SimulatedPorts } from './scheduler.ts';
import { SimulationFailure } from './simulation-failure.ts';

export interface WriterFaults {
  /** Set to have the next group fail. */
  next: 'diskFull' | 'syncFailed' | undefined;
}

/** Writes one group after the other, each after a while of simulated time. */
export class MemoryWriter implements WriterPort {
  readonly cpuUs = 0;
  readonly silentMs = 0;
  onResult: ((result: GroupResult) => void) | undefined;
  readonly #file: MemoryFile;
  readonly #ports: SimulatedPorts;
  readonly #chance: Chance;
  readonly #faults: WriterFaults;
  /** When the last answer is due: answers come in order. */
  #lastAnswerAtMs = 0;
  #freeAtMs = 0;
  #generation = 0;
  #failure: StorageFailure | undefined;

  constructor(file: MemoryFile, ports: SimulatedPorts, chance: Chance, faults: WriterFaults) {
    this.#file = file;
    this.#ports = ports;
    this.#chance = chance;
    this.#faults = faults;
  }

  send(group: Group): void {
    const nowMs = this.#ports.clock.monotonicMs();
    const writeAtMs = Math.max(nowMs, this.#freeAtMs) + this.#delayMs();
    this.#freeAtMs = writeAtMs;
    const answerAtMs = Math.max(this.#lastAnswerAtMs, writeAtMs + this.#delayMs());
    this.#lastAnswerAtMs = answerAtMs;
    let failure: StorageFailure | null = null;
    let sqlOutcomes: SqlOutcome[] = [];
    this.#ports.after(writeAtMs - nowMs, () => {
      failure = this.#write(group, (outcomes) => {
        sqlOutcomes = outcomes;
      });
    });
    this.#ports.after(answerAtMs - nowMs, () => {
      if (failure === null && group.sync === 'FULL') this.#file.sync(group.groupNumber);
      this.onResult?.({
        kind: 'group',
        groupNumber: group.groupNumber,
        generation: group.generation,
        failure,
        unusablePartitions: [],
        sqlOutcomes,
        maintenanceMs: 0,
        commitMs: 0,
        cpuUs: 0,
      });
    });
  }

  #delayMs(): number {
    return this.#chance.percent(5) ? this.#chance.between(10, 100) : this.#chance.below(3);
  }

  /** Groups behind a failed one fail too, until one comes that was built after it. */
  #write(group: Group, onStatements: (outcomes: SqlOutcome[]) => void): StorageFailure | null {
    const failed = this.#failure;
    if (failed !== undefined && (failed.fatal || group.generation === this.#generation)) return failed;
    this.#generation = group.generation;
    this.#failure = undefined;
    const fault = this.#faults.next;
    this.#faults.next = undefined;
    if (fault !== undefined) {
      const fatal = fault === 'syncFailed';
      // After a failed sync the group may be on disk or not.
      if (fatal && this.#chance.percent(50)) this.#file.write(toWritten(group));
      const code = fatal ? 'STORAGE_FAILED' : 'STORAGE_FULL';
      this.#failure = { code, message: `simulated: ${fault}`, details: {}, fatal };
      return this.#failure;
    }
    onStatements(this.#file.write(toWritten(group)));
    return null;
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
    deltas.map(({ partition, ranges }) => ({ partition, ranges: Uint8Array.from(ranges) }));
  return {
    groupNumber: group.groupNumber,
    poolChanges: group.poolChanges,
    blocks: blocksOf(group.blocks),
    deltas: group.consumptionDeltas.map(({ partition, offset, length }) => {
      return { partition, ranges: copy(offset, length) };
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

/** Answers each read after a while, from what is written by then. */
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
        // The answer is on its way while the file changes.
        this.#ports.after(this.#chance.below(2), () => resolve(result));
      });
    });
  }

  async close(): Promise<void> {}
}
