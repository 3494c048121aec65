/** Opens one instance in this process: the embedded library, and what each process of a cluster hosts. */
import { QueueError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { WaitRecorder } from '../core/waits.ts';
import { InlineInstance } from '../instance/inline-instance.ts';
import { OutcomeBook } from '../instance/outcome-book.ts';
import { ShardedEngine } from '../instance/sharded-engine.ts';
import { UnshardedEngine } from '../instance/unsharded-engine.ts';
import { Catalog } from '../storage/catalog.ts';
import type { Instance, InstanceOptions } from '../types.ts';
import { WriteLock } from './write-lock.ts';

/**
 * Opens or makes an instance; recovers what an earlier process left. Returns once it serves.
 * Throws `INSTANCE_IN_USE`, `STORAGE_FORMAT_NEWER`, `STORAGE_READ_ONLY`, `STORAGE_CORRUPT`, `OPTIONS_INVALID`.
 */
export async function openInstance(options: InstanceOptions): Promise<Instance> {
  const instance = options.instance ?? 1;
  if (!Number.isInteger(instance) || instance < 1 || instance > limits.instancesMax) {
    throw new QueueError('OPTIONS_INVALID', { sentence: `instance must be 1 to ${limits.instancesMax}` });
  }
  const catalog = new Catalog(options.dir);
  try {
    catalog.claimInstance(instance);
  } catch (error) {
    catalog.close();
    throw error;
  }
  const { emulatedSyncMs = 0 } = options;
  const waits = new WaitRecorder(emulatedSyncMs > 0 ? ['log file sync'] : []);
  const book = new OutcomeBook();
  const opened: { instance?: InlineInstance } = {};
  try {
    const sharded = await ShardedEngine.open({
      dir: options.dir,
      instance,
      cacheBytesMax: options.cacheBytesMax ?? limits.cacheBytesDefault,
      partitionMessagesMax: checked(options.partitionMessagesMax ?? limits.partitionMessagesMax),
      emulatedSyncMs: checkedSync(emulatedSyncMs),
      waits,
      book,
      queues: catalog.queues(),
      onFatal: (error) => opened.instance?.fail(error),
    });
    const unsharded = new UnshardedEngine({
      dir: options.dir,
      instance,
      waits,
      book,
      queueIds: () => catalog.queues().map((queue) => queue.queueId),
      lock: new WriteLock({
        dir: options.dir,
        onWaited: (ms) => waits.record('write lock', ms),
      }),
    });
    opened.instance = new InlineInstance({ id: instance, catalog, waits, book, sharded, unsharded });
    return opened.instance;
  } catch (error) {
    catalog.releaseInstance(instance);
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
