/**
 * Tests whether the instance can commit by committing: its writer writes and syncs a row of the instance's file, the disk must have
 * room for further groups, and its files must be where the next opening looks for them. Concurrent callers, and those shortly after, share one probe, so probing costs at most one
 * sync a second.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { GroupCommit } from '../commit/group-commit.ts';
import type { Epoch } from '../model/ids.ts';
import type { Ports } from '../model/ports.ts';
import type { InstanceSample } from '../model/sample.ts';

export interface CommitProbeOptions {
  epoch: Epoch;
  ports: Pick<Ports, 'clock' | 'timers'>;
  group: Pick<GroupCommit, 'write'>;
  instanceSample(): InstanceSample;
  /** Free bytes of the disk with the instance's file, for this user. */
  freeDiskBytes(): Promise<number>;
  /** Rejects with `STORAGE_REPLACED` if a file that the instance has open was deleted or replaced. */
  assertFilesInPlace(): Promise<void>;
}

export class CommitProbe {
  readonly #options: CommitProbeOptions;
  #last: Promise<void> | undefined;
  /** When the last probe ended, monotonic ms; undefined while it is under way. */
  #lastEndedAtMs: number | undefined;

  constructor(options: CommitProbeOptions) {
    this.#options = options;
  }

  /**
   * Resolves if the instance can commit. Rejects with the error of the commit, with `STORAGE_FULL` if the disk is about to
   * be full, with `STORAGE_REPLACED` if a file was deleted or replaced, and with `PROBE_TIMEOUT` if the commit is not done within `probeMsMax`.
   */
  async run(): Promise<void> {
    const { timers } = this.#options.ports;
    const timeout = Promise.withResolvers<never>();
    const timer = timers.deadline(limits.probeMsMax, () =>
      timeout.reject(new QueueError('PROBE_TIMEOUT', { details: { msMax: limits.probeMsMax } })),
    );
    try {
      await Promise.race([this.#latest(), timeout.promise]);
    } finally {
      timer.cancel();
    }
  }

  /** The probe under way, or a recent one, or a new one. */
  #latest(): Promise<void> {
    const { clock } = this.#options.ports;
    const endedAtMs = this.#lastEndedAtMs;
    const isRecent = endedAtMs === undefined || clock.monotonicMs() - endedAtMs < limits.probeReuseMs;
    if (this.#last !== undefined && isRecent) return this.#last;
    this.#lastEndedAtMs = undefined;
    this.#last = this.#probe().finally(() => {
      this.#lastEndedAtMs = clock.monotonicMs();
    });
    this.#last.catch(() => undefined); // its callers may have left at their deadline
    return this.#last;
  }

  async #probe(): Promise<void> {
    const { epoch, ports, group, instanceSample, freeDiskBytes, assertFilesInPlace } = this.#options;
    const asOfMs = ports.clock.epochMs();
    const rows = { queue: [], shard: [], subscriber: [], partition: [] };
    await group.write({
      sync: 'FULL',
      background: true,
      onClose: () => [
        { kind: 'sample', sample: { epoch, asOfMs, rows, instanceOnLastRows: instanceSample() } },
      ],
    });
    await assertFilesInPlace();
    const freeBytes = await freeDiskBytes();
    if (freeBytes >= limits.diskFreeBytesMin) return;
    throw new QueueError('STORAGE_FULL', {
      message: `The disk has ${freeBytes} bytes left, which is less than a group of commits may need`,
      details: { freeBytes, freeBytesMin: limits.diskFreeBytesMin },
    });
  }
}
