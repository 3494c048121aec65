/**
 * Bugs that the simulator must find. Each replaces a method of the engine or of the file in memory for a while; the sources are
 * unchanged.
 */

import { GroupCommit } from '../../src/commit/group-commit.ts';
import { InstanceForwarding } from '../../src/forwarding/instance-forwarding.ts';
import { CursorDeliveries } from '../../src/log/cursor-deliveries.ts';
import { LogCursor } from '../../src/log/log-cursor.ts';
import { LogPartitions } from '../../src/model/partitions.ts';
import { MemoryFile } from './memory-file.ts';
import { MemoryWriter } from './memory-writer.ts';
import { SimulatedLease } from './simulated-instance.ts';

export interface PlantedBug {
  name: string;
  /** Whether only the history shows the bug, since it breaks what the oracle does not know. */
  onlyInHistory?: true;
  /** Plants the bug; returns a function that removes it. */
  plant(): () => void;
}

type Method = (this: unknown, ...parameters: unknown[]) => unknown;

/** Replaces a method by `make(original)`. */
function replace<T extends object, Name extends keyof T>(
  prototype: T,
  method: Name,
  make: (original: Method) => Method,
): () => void {
  const original = prototype[method];
  prototype[method] = make(original as never) as T[Name];
  return () => {
    prototype[method] = original;
  };
}

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'a commit is acknowledged before it is synced',
    plant: () => replace(MemoryFile.prototype, 'sync', () => () => undefined),
  },
  {
    name: 'consumption is lost at recovery',
    plant: () =>
      replace(
        LogCursor.prototype,
        'recover',
        (original) =>
          function (this: unknown, _terminal, attempts) {
            return original.call(this, [], attempts);
          },
      ),
  },
  {
    name: 'a message is delivered again under its old hold number',
    plant: () =>
      replace(
        CursorDeliveries.prototype,
        'redeliver',
        (original) =>
          function (this: unknown, options) {
            const { out } = options as { out: { holdNumber: number }[] };
            const before = out.length;
            const taken = original.call(this, options) as number;
            for (const delivery of out.slice(before)) if (delivery.holdNumber > 1) delivery.holdNumber = 1;
            return taken;
          },
      ),
  },
  {
    name: 'new messages pass those that were returned',
    onlyInHistory: true,
    plant: () => {
      let redelivers = true;
      const removeRedeliver = replace(
        CursorDeliveries.prototype,
        'redeliver',
        (original) =>
          function (this: unknown, options) {
            return redelivers ? original.call(this, options) : 0;
          },
      );
      const removeDeliver = replace(
        LogCursor.prototype,
        'deliver',
        (original) =>
          function (this: unknown, options) {
            const all = options as { max: number };
            redelivers = false;
            const fresh = original.call(this, all) as number;
            redelivers = true;
            return fresh + (original.call(this, { ...all, max: all.max - fresh }) as number);
          },
      );
      return () => {
        removeDeliver();
        removeRedeliver();
      };
    },
  },
  {
    name: 'a restart forgets that messages were delivered',
    plant: () => replace(LogCursor.prototype, 'recoverDelivered', () => () => undefined),
  },
  {
    name: 'delays continue from the wall clock alone after a restart',
    plant: () =>
      replace(
        MemoryFile.prototype,
        'recover',
        (original) =>
          function (this: unknown) {
            const recovered = original.call(this) as object;
            return { ...recovered, delayClock: { moment: null, lastEnqueuedAtMs: null } };
          },
      ),
  },
  {
    name: 'a forwarded batch is accepted again after a lost connection',
    plant: () =>
      replace(
        InstanceForwarding.prototype,
        'reportReceived',
        (original) =>
          async function (this: unknown, sender, shard, whenDelivered) {
            const report = (await original.call(this, sender, shard, whenDelivered)) as object;
            return whenDelivered === true ? report : { ...report, batchNumber: 0 };
          },
      ),
  },
  {
    name: 'a partition is truncated one too early',
    plant: () =>
      replace(
        LogPartitions.prototype,
        'beginTruncatingDrained',
        (original) =>
          function (this: unknown, watermark) {
            const all = (this as LogPartitions).all;
            const index = all.findLastIndex(({ firstSeq }) => firstSeq <= (watermark as number));
            const next = all[index + 1]?.firstSeq ?? watermark;
            return original.call(this, next);
          },
      ),
  },
  {
    name: 'messages of a failed group become visible',
    plant: () =>
      replace(
        GroupCommit.prototype,
        'onResult',
        (original) =>
          function (this: unknown, result) {
            const { failure } = result as { failure: { fatal: boolean } | null };
            if (failure?.fatal !== false) return original.call(this, result);
            return original.call(this, { ...(result as object), failure: null });
          },
      ),
  },
  {
    name: 'messages are delivered after the lease has lapsed',
    plant: () => replace(SimulatedLease.prototype, 'isHeld', () => () => true),
  },
  {
    name: 'a read does not wait for what is not applied',
    plant: () => replace(MemoryWriter.prototype, 'whenApplied', () => () => Promise.resolve()),
  },
  {
    name: 'a read waits for one group less than it needs',
    plant: () =>
      replace(
        MemoryWriter.prototype,
        'whenApplied',
        (original) =>
          function (this: unknown, through) {
            return original.call(this, (through as number) - 1);
          },
      ),
  },
];
