/** Puts an instance together in this process, which has claimed it: its files, its kinds of queue, what they share. */

import { QueueError } from '../api/errors.ts';
import type { InstanceOptions } from '../api/instance.ts';
import type { DamageFinding } from '../api/instance-stats.ts';
import { limits } from '../api/limits.ts';
import { CommitOutcomes } from '../commit/commit-outcomes.ts';
import { forwardingWait } from '../forwarding/instance-forwarding.ts';
import { logFileSync } from '../model/commit-waits.ts';
import { isEmulated } from '../model/emulated-sync.ts';
import type { InstanceId, QueueId } from '../model/ids.ts';
import type { InstancePorts } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import { servicesOf, validateServices } from '../model/validate-services.ts';
import { WaitRecorder } from '../model/wait-recorder.ts';
import type { DeliveryLease } from '../queues/delivery-lease.ts';
import { loadService } from '../singletons/load-service.ts';
import { ServiceHost } from '../singletons/service-host.ts';
import { Catalog } from '../storage/catalog/catalog.ts';
import { catalogPath } from '../storage/catalog/catalog-file.ts';
import { leasesPath } from '../storage/catalog/lease-file.ts';
import { freeDiskBytes } from '../storage/free-disk-bytes.ts';
import { instanceFilePath } from '../storage/instance-file/instance-file.ts';
import { FilesInUse } from '../storage/sqlite/files-in-use.ts';
import { unshardedPath } from '../storage/unsharded/unsharded-file.ts';
import { UnshardedEngine } from '../unsharded/unsharded-engine.ts';
import { passedOnCall } from '../xa/passed-on-calls.ts';
import { globalTransactionLock } from '../xa/tight/home-instances.ts';
import { containViolations } from './instance-timers.ts';
import { LocalInstance } from './local-instance.ts';
import { openSharded } from './open-sharded.ts';
import { Scrubber } from './scrubber.ts';
import { validateInstanceOptions } from './validate-instance-options.ts';

export interface InstanceHooks {
  /** Undefined where no other process can take the instance over as long as this one lives. */
  lease?: DeliveryLease;
  /** The instance that this process belongs to; default: the assembled one. */
  processOf?: InstanceId;
  /** Called when the instance stops serving without having been closed. */
  onEnded?(error: QueueError): void;
  /** A scrub found damage of stored data that the previous scrub did not find. */
  onDamageFound?(finding: DamageFinding): void;
  /** All files are closed. Not called if the opening fails: then the caller, who gets the error, ends the claim. */
  onClosed(): void;
}

/**
 * Recovers what an earlier process left; returns once the instance serves. Throws the storage errors, `OPTIONS_INVALID`; then
 * everything is closed again.
 */
export async function assembleInstance(
  id: InstanceId,
  options: InstanceOptions,
  { lease, processOf = id, ...hooks }: InstanceHooks,
  outerPorts: InstancePorts,
): Promise<LocalInstance> {
  const ports = { ...outerPorts, timers: containViolations(outerPorts.timers) };
  const { dir, services = [] } = options;
  const { emulatedInterconnectMs, scrubIntervalMs, ...ofSharded } = validateInstanceOptions(options);
  const { emulatedSync, logBytesMax } = ofSharded;
  validateServices(services);
  const opened: { instance?: LocalInstance; files?: FilesInUse; isComplete?: boolean } = {};
  /** What a failed opening must close, as long as there is no instance that closes it. */
  const openParts: { close(): Promise<void> }[] = [];
  const onFatal = (error: QueueError) => opened.instance?.fail(error);
  const catalog = new Catalog(dir, { onFailed: onFatal, processes: ports.processes });
  const waits = new WaitRecorder({
    clock: ports.clock,
    emulated: [
      ...(isEmulated(emulatedSync) ? [logFileSync] : []),
      ...(emulatedInterconnectMs > 0 ? [forwardingWait, globalTransactionLock, passedOnCall] : []),
    ],
  });
  const outcomes = new CommitOutcomes(ports.clock);
  // The catalog is read for a queue that another process has created just now, and for one that is gone.
  const queueById = (queueId: QueueId) =>
    opened.instance?.findQueueById(queueId) ?? catalog.queues().find((row) => row.queueId === queueId);
  const exceptionQueueOf = (queue: QueueRow) => {
    try {
      return opened.instance?.exceptionQueueOf(queue);
    } catch (error) {
      if (error instanceof QueueError) return undefined; // the move is tried again
      throw error;
    }
  };
  try {
    catalog.subscribers.removeOfInstance(id); // nondurable ones of an earlier process
    const sharded = await openSharded({
      ...ofSharded,
      dir,
      instance: id,
      ports,
      epochKnown: catalog.epochOf(id),
      cacheBytesMax: options.cacheBytesMax ?? catalog.cacheBytesMax() ?? limits.cacheBytesDefault,
      waits,
      outcomes,
      queues: catalog.queues(),
      everExisted: (what, ofId) => catalog.everExisted(what, ofId),
      sqlInstance: () => catalog.sqlInstance(),
      queueById,
      exceptionQueueOf,
      subscribers: (queueId) => catalog.subscribers.ofTopic(queueId),
      onFatal,
      lease,
      freeDiskBytes: () => freeDiskBytes(dir),
      assertFilesInPlace: () => opened.files!.assertInPlace(),
    });
    openParts.push(sharded);
    catalog.setEpochOf(id, sharded.epoch);
    const ofShared = {
      dir,
      instance: id,
      waits,
      ports,
      outcomes,
      queues: () => catalog.queues(),
      queueById,
      exceptionQueueOf,
      onFatal,
      logBytesMax,
    };
    const unsharded = new UnshardedEngine({ kind: 'unsharded', ...ofShared });
    const grouped = new UnshardedEngine({ kind: 'unsharded-grouped', ...ofShared });
    openParts.push(unsharded, grouped);
    // Opening waits for other writers. Under a lease the session thread must not block on that at first use.
    if (lease !== undefined) await Promise.all([unsharded.open(), grouped.open()]);
    opened.files = new FilesInUse({
      open: [catalogPath(dir), instanceFilePath(dir, id)],
      later: unshardedPath(dir),
      others: () => [...(lease === undefined ? [] : [leasesPath(dir)]), ...sharded.writer.redoPaths],
    });
    const scrubber = new Scrubber({
      dir,
      instancePath: instanceFilePath(dir, id),
      // One instance of a cluster is enough for the file that they share.
      unshardedPath: () => {
        const others = opened.instance?.otherHostedInstances ?? [];
        return others.every((other) => other > id) ? unshardedPath(dir) : null;
      },
      intervalMs: scrubIntervalMs,
      ports,
      onFound: (finding) => hooks.onDamageFound?.(finding),
    });
    openParts.push(scrubber);
    const followsCacheSize = options.cacheBytesMax === undefined;
    const createServices = (of: LocalInstance) =>
      new ServiceHost({
        of: {
          instance: id,
          epoch: sharded.epoch,
          holder: { pid: ports.processes.self.pid, instance: processOf },
          openSession: (state, open) => of.openServiceSession(state, open),
          writeTenure: (row) =>
            sharded.groupCommit.write({
              sync: 'FULL',
              background: true,
              onClose: () => [{ kind: 'service tenure', row }],
            }),
          assertServing: () => {
            of.assertServing();
            lease?.assertHeld();
          },
        },
        specs: servicesOf(services, id),
        recovered: sharded.recoveredServices,
        load: loadService,
        ports,
      });
    const parts = {
      id,
      dir,
      catalog,
      waits,
      ports,
      outcomes,
      sharded,
      unsharded,
      grouped,
      scrubber,
      createServices,
      followsCacheSize,
      emulatedInterconnectMs,
    };
    const onClosed = () => {
      if (opened.isComplete) hooks.onClosed();
    };
    opened.instance = new LocalInstance({ ...parts, ...hooks, onClosed });
    await opened.instance.applyCatalogSubscribers();
    opened.isComplete = true;
    return opened.instance;
  } catch (error) {
    // A takeover tries again and again: what stayed open would leak threads, timers and files each time.
    if (opened.instance !== undefined) await opened.instance.close().catch(() => undefined);
    else {
      await Promise.allSettled(openParts.map((part) => part.close()));
      catalog.close();
    }
    throw error;
  }
}
