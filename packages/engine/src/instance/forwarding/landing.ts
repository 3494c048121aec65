/**
 * Where batches of other instances arrive. The messages are committed to a log of their shard here, in one commit with
 * the number of the batch, so that a batch that comes twice is taken once.
 */
import { ownerOf, returnedNo } from '../../core/shard-number.ts';
import type { BorrowedRow } from '../../storage/forwarding-table.ts';
import type { IdRun } from '../../storage/id-runs.ts';
import type { SideChange } from '../../storage/side-change.ts';
import type { GroupCommit } from '../group-commit.ts';
import type { Shard } from '../shard.ts';
import type { ShardedQueue } from '../sharded-queue.ts';
import type { Slab } from '../slab.ts';
import { newRun, type StagedRun, stageRecords } from '../staged-transaction.ts';
import { lastNumber } from './home-order.ts';
import type { Batch, Giver, ShardName } from './interconnect.ts';
import { layBatch } from './lay-batch.ts';
import type { Loan, Rest } from './loan.ts';

/** Where a batch may come to. */
export interface LandingPlace {
  queue: ShardedQueue;
  /** That of the shard, if it is one of this instance: then the batch comes home. */
  loan: Loan | undefined;
}

interface Arrival {
  giver: Giver;
  batch: Batch;
  queue: ShardedQueue;
  log: Shard;
  /** What is to be laid behind the batch. */
  rest: Rest | undefined;
}

export interface LandingOptions {
  instance: number;
  group: GroupCommit;
  slab: Slab;
  /** What the file says. */
  rows: readonly BorrowedRow[];
}

/** The log that messages of a shard come to at an instance. */
export function landingNo(shard: number, instance: number): number {
  return ownerOf(shard) === instance ? returnedNo(shard) : shard;
}

export class Landing {
  readonly #options: LandingOptions;
  readonly #rows = new Map<string, BorrowedRow>();
  /** By queue, shard and giver: one batch after the other. */
  readonly #underWay = new Map<string, Promise<unknown>>();
  /** By instance: batches of an earlier process or connection of it are void. */
  readonly #fences = new Map<number, Giver>();

  constructor(options: LandingOptions) {
    this.#options = options;
    for (const row of options.rows) this.#rows.set(keyOf(row, row.giver), row);
  }

  movedIn(queueId: number): number {
    let moved = 0;
    for (const row of this.#rows.values()) if (row.queueId === queueId) moved += row.messages;
    return moved;
  }

  forget(queueId: number): void {
    for (const [key, row] of this.#rows) if (row.queueId === queueId) this.#rows.delete(key);
  }

  /** Resolves with whether the batch is committed here; if not, it never will be. Throws the storage errors: then who knows. */
  accept(giver: Giver, batch: Batch, placeOf: () => LandingPlace | undefined): Promise<boolean> {
    return this.#inTurn(keyOf(batch, giver.instance), async (key) => {
      const fence = this.#fences.get(giver.instance);
      if (fence !== undefined && isBefore(giver, fence)) return false;
      const row = this.#rows.get(key);
      if (row !== undefined && batch.no <= row.batchNo) return true;
      const place = placeOf();
      if (place === undefined) return false;
      const log = place.queue.landing(landingNo(batch.shard, this.#options.instance));
      const commit = (rest?: Rest) => this.#commit({ giver, batch, log, queue: place.queue, rest });
      if (place.loan !== undefined) return place.loan.comeHome(lastNumber(batch), commit);
      await commit();
      return true;
    });
  }

  async #commit({ giver, batch, log, queue, rest }: Arrival): Promise<void> {
    const { group, slab } = this.#options;
    const run = newRun(log);
    stageRecords(slab, run, batch.records);
    const behind = rest && layBatch(rest.deliveries);
    if (behind !== undefined) stageRecords(slab, run, behind.records);
    const { queueId, shard, extent, no: batchNo } = batch;
    const before = this.#rows.get(keyOf(batch, giver.instance))?.messages ?? 0;
    const messages = before + run.count;
    const row: BorrowedRow = { queueId, shard, giver: giver.instance, batchNo, extent, messages };
    const attempts = [
      ...batch.attempts,
      ...(behind?.attempts ?? []).map(([index, times]) => [index + batch.records.count, times] as const),
    ];
    await group.submit({
      runs: [run],
      deliveries: [...(rest?.deliveries ?? [])],
      bytes: [batch, behind].reduce(
        (sum, laid) => sum + (laid ? laid.records.end - laid.records.start : 0),
        0,
      ),
      sync: queue.row.durability === 'durable' ? 'FULL' : 'NORMAL',
      side: () => [
        { kind: 'borrowed', row },
        ...(rest === undefined ? [] : [{ kind: 'lent', row: rest.row } as const]),
      ],
      placed: () => attemptsOf(log, run, attempts),
    });
    this.#rows.set(keyOf(row, row.giver), row);
  }

  /** The last batch from a giver, once none is under way any more; what it sent before is void from now on. */
  report(giver: Giver, name: ShardName): Promise<{ batchNo: number; extent: readonly IdRun[] }> {
    const fence = this.#fences.get(giver.instance);
    if (fence === undefined || isBefore(fence, giver)) this.#fences.set(giver.instance, giver);
    return this.#inTurn(keyOf(name, giver.instance), async (key) => {
      const { batchNo = 0, extent = [] } = this.#rows.get(key) ?? {};
      return { batchNo, extent };
    });
  }

  /** Resolves once nothing of a shard is being committed. */
  async settled({ queueId, shard }: ShardName): Promise<void> {
    const prefix = `${queueId} ${shard} `;
    await Promise.all([...this.#underWay].filter(([key]) => key.startsWith(prefix)).map(([, turn]) => turn));
  }

  async #inTurn<T>(key: string, work: (key: string) => Promise<T>): Promise<T> {
    const before = this.#underWay.get(key);
    const turn = before === undefined ? work(key) : before.then(() => work(key));
    const settled = turn.catch(() => undefined);
    this.#underWay.set(key, settled);
    try {
      return await turn;
    } finally {
      if (this.#underWay.get(key) === settled) this.#underWay.delete(key);
    }
  }
}

function keyOf({ queueId, shard }: ShardName, giver: number): string {
  return `${queueId} ${shard} ${giver}`;
}

function isBefore(one: Giver, other: Giver): boolean {
  return one.epoch < other.epoch || (one.epoch === other.epoch && one.connection < other.connection);
}

/** How often they were handed out elsewhere, for the reader and for the file. */
function attemptsOf(log: Shard, run: StagedRun, attempts: Batch['attempts']): SideChange[] {
  return attempts.map(([index, times]) => {
    const seq = run.firstSeq + index;
    for (const reader of log.readers) reader.noteAttempts(seq, times);
    const partition = log.partitions.find(seq).no;
    return { kind: 'attempts', partition, rows: [{ subscriber: 0, seq, attempts: times }] };
  });
}
