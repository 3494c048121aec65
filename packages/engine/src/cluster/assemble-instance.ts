/** Puts an instance together in this process, which has claimed it: files, engines and what they share. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { WaitRecorder } from '../core/waits.ts';
import type { HandOutLease } from '../instance/hand-out-lease.ts';
import { InlineInstance } from '../instance/inline-instance.ts';
import { OutcomeBook } from '../instance/outcome-book.ts';
import { ShardedEngine } from '../instance/sharded-engine.ts';
import { UnshardedEngine } from '../instance/unsharded-engine.ts';
import { Catalog } from '../storage/catalog.ts';
import type { InstanceOptions } from '../types.ts';
import { WriteLock } from './write-lock.ts';

export interface InstanceHooks {
  /** Absent where nobody else could have the instance as long as this process lives. */
  lease?: HandOutLease;
  /** Nothing more is served, before anybody asked for it. */
  onEnded?(error: QueueError): void;
  /** All files are closed. */
  onClosed(): void;
}

/** Recovers what an earlier process left; returns once the instance serves. Throws the storage errors, `OPTIONS_INVALID`. */
export async function assembleInstance(
  id: number,
  options: InstanceOptions,
  { lease, ...hooks }: InstanceHooks,
): Promise<InlineInstance> {
  const { dir, emulatedSyncMs = 0 } = options;
  const partitionMessagesMax = checked(options.partitionMessagesMax ?? limits.partitionMessagesMax);
  const opened: { instance?: InlineInstance } = {};
  const onFatal = (error: QueueError) => opened.instance?.fail(error);
  const catalog = new Catalog(dir, onFatal);
  const waits = new WaitRecorder(emulatedSyncMs > 0 ? ['log file sync'] : []);
  const book = new OutcomeBook();
  try {
    catalog.subscribers.removeOfInstance(id); // nondurable ones of an earlier process
    const sharded = await ShardedEngine.open({
      dir,
      instance: id,
      cacheBytesMax: options.cacheBytesMax ?? catalog.cacheBytesMax() ?? limits.cacheBytesDefault,
      partitionMessagesMax,
      emulatedSyncMs: checkedSync(emulatedSyncMs),
      sampleMs: checkedSample(options.sampleMs ?? limits.sampleMsDefault),
      sqlHoldMsMax: checkedHold(options.sqlHoldMsMax ?? limits.sqlHoldMsDefault),
      waits,
      book,
      queues: catalog.queues(),
      knew: (what, id) => catalog.knew(what, id),
      queueById: (queueId) => catalog.queues().find((queue) => queue.queueId === queueId),
      subscribers: (queueId) => catalog.subscribers.of(queueId),
      onFatal,
      lease,
    });
    const unsharded = new UnshardedEngine({
      dir,
      instance: id,
      waits,
      book,
      queues: () => catalog.queues(),
      onFatal,
      lock: new WriteLock({ dir, onWaited: (ms) => waits.record('write lock', ms) }),
    });
    // Under a lease the thread must not stand still, as it would at first use while others write.
    if (lease !== undefined) await unsharded.open();
    const followsCacheSize = options.cacheBytesMax === undefined;
    const parts = { id, dir, catalog, waits, book, sharded, unsharded, followsCacheSize };
    opened.instance = new InlineInstance({ ...parts, ...hooks });
    await opened.instance.subscribersReady();
    return opened.instance;
  } catch (error) {
    catalog.close();
    throw error;
  }
}

function checked(partitionMessagesMax: number): number {
  const most = limits.partitionMessagesMax;
  if (Number.isInteger(partitionMessagesMax) && partitionMessagesMax >= 1 && partitionMessagesMax <= most) {
    return partitionMessagesMax;
  }
  throw new QueueError('OPTIONS_INVALID', { sentence: `partitionMessagesMax must be 1 to ${most}` });
}

function checkedSync(emulatedSyncMs: number): number {
  const most = limits.emulatedSyncMsMax;
  if (Number.isFinite(emulatedSyncMs) && emulatedSyncMs >= 0 && emulatedSyncMs <= most) return emulatedSyncMs;
  throw new QueueError('OPTIONS_INVALID', { sentence: `emulatedSyncMs must be 0 to ${most}` });
}

function checkedSample(sampleMs: number): number {
  const { sampleMsMin: least, sampleMsMax: most } = limits;
  if (Number.isFinite(sampleMs) && sampleMs >= least && sampleMs <= most) return sampleMs;
  throw new QueueError('OPTIONS_INVALID', { sentence: `sampleMs must be ${least} to ${most}` });
}

function checkedHold(sqlHoldMsMax: number): number {
  const { sqlHoldMsMax: most } = limits;
  if (Number.isFinite(sqlHoldMsMax) && sqlHoldMsMax >= 1 && sqlHoldMsMax <= most) return sqlHoldMsMax;
  throw new QueueError('OPTIONS_INVALID', { sentence: `sqlHoldMsMax must be 1 to ${most}` });
}
