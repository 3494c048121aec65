/** What an instance reports about itself: its counts, what it lost at the opening, whether it is empty and healthy. */

import { QueueError } from '../api/errors.ts';
import type { InstanceStats, ShardStats } from '../api/instance-stats.ts';
import type { QueueStats } from '../api/queue-stats.ts';
import type { InstanceId } from '../model/ids.ts';
import type { CallingThread } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { WaitRecorder } from '../model/wait-recorder.ts';
import type { EngineTotals, QueueEngine } from '../queues/queue-engine.ts';
import { instanceFilePath } from '../storage/instance-file/instance-file.ts';
import { logBytesOf } from '../storage/sqlite/log-bytes.ts';
import { unshardedPath } from '../storage/unsharded/unsharded-file.ts';
import type { ShardedParts } from './assemble-sharded.ts';
import type { Scrubber } from './scrubber.ts';
import type { ServedQueues } from './served-queues.ts';

export interface InstanceReportOptions {
  instance: InstanceId;
  /** Folder of its cluster. */
  dir: string;
  queues: ServedQueues;
  waits: WaitRecorder;
  sharded: ShardedParts;
  /** All kinds of queue. */
  engines: readonly Pick<QueueEngine, 'statistics'>[];
  scrubber: Pick<Scrubber, 'stats'>;
  thread: CallingThread;
}

export class InstanceReport {
  readonly #options: InstanceReportOptions;

  constructor(options: InstanceReportOptions) {
    this.#options = options;
  }

  /** Throws why nothing is served. */
  stats(): InstanceStats {
    const { instance, dir, queues, waits, sharded, scrubber, thread } = this.#options;
    queues.assertServing();
    const { user, system } = thread.cpuUsage();
    return {
      instance,
      epoch: sharded.epoch,
      enqueued: this.#total('enqueued'),
      consumed: this.#total('consumed'),
      commits: this.#total('commits'),
      groups: this.#total('groups'),
      syncs: this.#total('syncs'),
      cpu: { sessionUs: user + system, writerUs: sharded.writer.cpuUs },
      counters: waits.counters(),
      logBytes: logBytesOf(instanceFilePath(dir, instance)) + logBytesOf(unshardedPath(dir)),
      shards: queues.rows.flatMap((row) => this.#shardStats(row)),
      scrub: scrubber.stats,
    };
  }

  #total(name: keyof EngineTotals): number {
    return this.#options.engines.reduce((sum, { statistics }) => sum + statistics.totals[name], 0);
  }

  /** Empty for a queue whose file cannot be read: its `QueueInfo` has the error. */
  #shardStats(row: QueueRow): ShardStats[] {
    try {
      return this.#options.queues.engineOf(row).statistics.shardStats(row);
    } catch (error) {
      if (error instanceof QueueError) return [];
      throw error;
    }
  }

  /** Throws `QUEUE_NOT_FOUND`, and why nothing is served. */
  queueStats(name: string): QueueStats {
    const { row, engine } = this.#options.queues.findQueue(name);
    return engine.statistics.queueStats(row);
  }

  /** Messages of nonpersistent queues that were lost with the previous opening. */
  lostMessages(): { queue: string; messages: number }[] {
    const { sharded, queues } = this.#options;
    return sharded.lostMessages.flatMap(({ queueId, messages }) => {
      const row = queues.rows.find((each) => each.queueId === queueId);
      return row === undefined ? [] : [{ queue: row.name, messages }];
    });
  }

  /** Whether the instance has no committed message and none is in flight to it. */
  isEmpty(): boolean {
    const { queues, delayed, groupCommit, forwarding, branches } = this.#options.sharded;
    const logs = [...queues].flatMap((queue) => queue.logs);
    const hasNone = logs.every((log) => log.backlog === 0) && delayed.total + branches.size === 0;
    return groupCommit.isIdle && forwarding.isQuiescent && hasNone;
  }

  /** Undefined if the instance serves, and its writer is idle or answered within `writerSilentMsMax`. */
  unhealthyReason(writerSilentMsMax: number): QueueError | undefined {
    return this.#options.queues.endReason ?? this.writerSilence(writerSilentMsMax);
  }

  /** The error of a writer that has owed an answer for longer than this; undefined if it has not. */
  writerSilence(writerSilentMsMax: number): QueueError | undefined {
    const { instance, sharded } = this.#options;
    if (sharded.writer.silentMs <= writerSilentMsMax) return undefined;
    return new QueueError('WRITER_SILENT', {
      message: `The writer of instance ${instance} has work and has not answered for over ${writerSilentMsMax} ms`,
      details: { instance, writerSilentMsMax },
    });
  }
}
