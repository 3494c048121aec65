/**
 * Writes samples of an instance's memory into its file, for the SQL views there: about once a second, and only if
 * something changed. A sample joins a group that is open anyway; otherwise it is a group of its own, which is not synced.
 * No session waits for it.
 */

import { limits } from '../api/limits.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { Epoch } from '../model/ids.ts';
import { inBackground } from '../model/invariant.ts';
import type { Ports, Timer } from '../model/ports.ts';
import type { InstanceSample, Sample } from '../model/sample.ts';
import type { ShardedQueue } from '../queues/sharded-queues.ts';
import { type ChangedRow, ChangedRowFinder } from './changed-row-finder.ts';
import { type ClockReading, RateTracker, readClock } from './rate-tracker.ts';

export interface MetricsSamplerOptions {
  epoch: Epoch;
  sampleMs: number;
  ports: Pick<Ports, 'clock' | 'timers'>;
  group: GroupCommit;
  queues(): Iterable<ShardedQueue>;
  instanceSample(): InstanceSample;
}

export class MetricsSampler {
  readonly rates = new RateTracker();
  readonly #options: MetricsSamplerOptions;
  readonly #changedRows = new ChangedRowFinder(this.rates);
  #timer: Timer | undefined;
  #sampling: Promise<void> | undefined;
  /** Number of groups at the last failure. Until another group was committed, no sample is attempted. */
  #failedAtGroup = -1;
  #isFirst = true;
  #closed = false;

  constructor(options: MetricsSamplerOptions) {
    this.#options = options;
    this.#scheduleNext(options.sampleMs);
  }

  /** Starts the rate windows of a queue. Call it after its logs are recovered, so that they do not count as growth. */
  startRates(queue: ShardedQueue): void {
    this.rates.advance(queue, this.#now);
  }

  get #now(): ClockReading {
    return readClock(this.#options.ports.clock);
  }

  #scheduleNext(delayMs: number): void {
    if (this.#closed) return;
    this.#timer = this.#options.ports.timers.after(delayMs, () => {
      const sampling = this.#takeSample().then((tookMs) => {
        this.#sampling = undefined;
        this.#scheduleNext(Math.max(this.#options.sampleMs, tookMs * limits.sampleRestFactor));
      });
      this.#sampling = sampling;
      inBackground(sampling);
    });
  }

  /** Never rejects. Resolves with the milliseconds for which it occupied this thread. */
  async #takeSample(): Promise<number> {
    const { group, queues, ports } = this.#options;
    const now = this.#now;
    for (const queue of queues()) this.rates.advance(queue, now);
    if (this.#failedAtGroup === group.groups) return 0;
    const rows = this.#changedRows.findChanged(queues(), now);
    const tookMs = ports.clock.monotonicMs() - now.monotonicMs;
    if (rows.length === 0 && !this.#isFirst) return tookMs;
    this.#isFirst = false;
    for (let from = 0; from === 0 || from < rows.length; from += limits.sampleRowsMax) {
      const part = rows.slice(from, from + limits.sampleRowsMax);
      try {
        await this.#write(part, now, from + part.length === rows.length);
      } catch {
        this.#changedRows.markUnwritten(rows.slice(from));
        this.#failedAtGroup = group.groups;
        break;
      }
    }
    return tookMs;
  }

  async #write(rows: readonly ChangedRow[], { epochMs }: ClockReading, isLast: boolean): Promise<void> {
    const { group, epoch, instanceSample } = this.#options;
    const sampleOnClose = (): Sample => ({
      epoch,
      asOfMs: epochMs,
      rows: rowsByTable(rows),
      instanceOnLastRows: isLast ? instanceSample() : null,
    });
    await group.write({
      sync: 'NORMAL',
      background: true,
      onClose: () => [{ kind: 'sample', sample: sampleOnClose() }],
    });
  }

  /** Writes a last sample, so that the views of a closed file are exact. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#sampling;
    await this.#takeSample();
  }
}

/** Leaves out what was dropped before its group closed: its rows are deleted already, or by that group. */
function rowsByTable(rows: readonly ChangedRow[]): Sample['rows'] {
  const byTable: Record<keyof Sample['rows'], object[]> = {
    queue: [],
    shard: [],
    subscriber: [],
    partition: [],
  };
  for (const { table, row, stillExists } of rows) if (stillExists()) byTable[table].push(row);
  return byTable as Sample['rows'];
}
