/**
 * Writes samples of an instance's memory into its file, for the views there: about once a second, if anything changed. They
 * ride in a group of the writer; where none is under way they are one by themselves, without a sync. Nothing waits for
 * them, and an instance where nothing happens writes nothing.
 */
import { limits } from '../../core/limits.ts';
import type { InstanceSample, Sample } from '../../storage/sample-table.ts';
import type { GroupCommit } from '../group-commit.ts';
import type { ShardedQueue } from '../sharded-queue.ts';
import { type Moment, Rates } from './figures.ts';
import { type ChangedRow, Sweep } from './sweep.ts';

export interface MonitorOptions {
  epoch: number;
  sampleMs: number;
  group: GroupCommit;
  queues(): Iterable<ShardedQueue>;
  instanceSample(): InstanceSample;
}

export class Monitor {
  readonly rates = new Rates();
  readonly #options: MonitorOptions;
  readonly #sweep = new Sweep(this.rates);
  #timer: NodeJS.Timeout | undefined;
  #sampling: Promise<void> | undefined;
  /** After a sample that could not be written, nothing is tried until somebody else's commit went well. */
  #failedAtGroup = -1;
  #isFirst = true;
  #closed = false;

  constructor(options: MonitorOptions) {
    this.#options = options;
    this.#rest(options.sampleMs);
  }

  /** The windows of its rates begin now; of a queue that is recovered, once its shards are. */
  watch(queue: ShardedQueue): void {
    this.rates.advance(queue, thisMoment());
  }

  #rest(ms: number): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#sampling = this.#sample().then((tookMs) => {
        this.#sampling = undefined;
        this.#rest(Math.max(this.#options.sampleMs, tookMs * limits.sampleRestFactor));
      });
    }, ms).unref();
  }

  /** Never rejects; resolves with the time that it took of this thread, milliseconds. */
  async #sample(): Promise<number> {
    const { group, queues } = this.#options;
    const now = thisMoment();
    for (const queue of queues()) this.rates.advance(queue, now);
    if (this.#failedAtGroup === group.groups) return 0;
    const rows = this.#sweep.changed(queues(), now);
    const tookMs = performance.now() - now.monotonicMs;
    if (rows.length === 0 && !this.#isFirst) return tookMs;
    this.#isFirst = false;
    for (let from = 0; from === 0 || from < rows.length; from += limits.sampleRowsMax) {
      const part = rows.slice(from, from + limits.sampleRowsMax);
      try {
        await this.#write(part, now, from + part.length === rows.length);
      } catch {
        this.#sweep.forget(rows.slice(from));
        this.#failedAtGroup = group.groups;
        break;
      }
    }
    return tookMs;
  }

  async #write(rows: readonly ChangedRow[], { epochMs }: Moment, isLast: boolean): Promise<void> {
    const { group, epoch, instanceSample } = this.#options;
    const side = () => {
      const sample: Sample = {
        epoch,
        asOfMs: epochMs,
        rows: rowsByTable(rows),
        completes: isLast ? instanceSample() : null,
      };
      return [{ kind: 'sample', sample } as const];
    };
    await group.submit({ runs: [], deliveries: [], bytes: 0, sync: 'NORMAL', background: true, side });
  }

  /** Writes a last sample, so that the views of a file that is closed are exact. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#sampling;
    await this.#sample();
  }
}

export function thisMoment(): Moment {
  return { epochMs: Date.now(), monotonicMs: performance.now() };
}

/** What is not there any more when its group closes is left out: its rows were removed, or are in that group. */
function rowsByTable(rows: readonly ChangedRow[]): Sample['rows'] {
  const byTable: Record<keyof Sample['rows'], object[]> = {
    queue: [],
    shard: [],
    subscriber: [],
    partition: [],
  };
  for (const { table, row, isThere } of rows) if (isThere()) byTable[table].push(row);
  return byTable as Sample['rows'];
}
