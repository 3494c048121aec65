/** Fills the sharded queues of an instance from what its file held when it was opened. */

import { QueueError } from '../api/errors.ts';
import { isDelayedLog } from '../model/log-id.ts';
import type { RecoveredInstance } from '../model/recovered-instance.ts';
import { logBoundsOf, recoverQueue } from '../queues/recovery.ts';
import type { ShardedOptions, ShardedParts } from './assemble-sharded.ts';

export function recoverSharded(
  parts: ShardedParts,
  options: ShardedOptions,
  recovered: RecoveredInstance,
): void {
  const { pool, groupCommit, subscriberChanges, sampler, queues, branches } = parts;
  options.outcomes.loadRows(recovered.sessionOutcomes);
  recoverQueues(parts, options, recovered);
  branches.recoverPrepared(recovered.preparedBranches);
  subscriberChanges.removeUnknown(
    recovered.subscriptions,
    options.queues.flatMap((row) => options.subscribers(row.queueId)),
  );
  deleteRowsOfDropped(parts, options, recovered);
  releasePayloads(parts, options);
  for (const { logs } of queues) for (const log of logs) log.assertConsistent();
  if (pool.hasPendingChanges) groupCommit.schedule();
  for (const queue of queues) sampler.startRates(queue);
}

function recoverQueues(
  { pool, groupCommit, forwarding, queues }: ShardedParts,
  options: ShardedOptions,
  { partitions, subscriptions, evacuated, deliveryMarks }: RecoveredInstance,
): void {
  const subscribed = new Set(subscriptions.map(({ subscriber }) => subscriber));
  const byQueue = Map.groupBy(partitions, (partition) => partition.queueId);
  // A topic with subscribers may have messages that become due before anybody calls it.
  for (const { queueId } of options.queues) {
    const isKnown = options.subscribers(queueId).some(({ id }) => subscribed.has(id));
    if (isKnown && !byQueue.has(queueId)) byQueue.set(queueId, []);
  }
  for (const [queueId, ofQueue] of byQueue) {
    const row = options.queues.find((queue) => queue.queueId === queueId);
    if (row === undefined) {
      for (const { partition } of ofQueue) pool.truncate(partition);
      continue;
    }
    const queue = queues.createRecovered(row, logBoundsOf(ofQueue));
    recoverQueue({
      queue,
      subscribers: options.subscribers(queueId),
      partitions: ofQueue,
      subscriptions,
      evacuated: evacuated.filter((message) => message.queueId === queueId),
      deliveryMarks,
    });
    for (const log of queue.logs) groupCommit.truncateDrained(log);
    forwarding.addQueue(queue);
  }
}

/** Queues that were dropped while the instance was closed may have rows outside their partitions. */
function deleteRowsOfDropped(
  { lifecycle }: ShardedParts,
  { queues, everExisted }: ShardedOptions,
  { evacuated, forwardedOut, forwardedIn, delayedCounts }: RecoveredInstance,
): void {
  const rows = [...evacuated, ...forwardedOut, ...forwardedIn];
  const queueIds = new Set([...delayedCounts.keys(), ...rows.map(({ queueId }) => queueId)]);
  for (const { queueId } of queues) queueIds.delete(queueId);
  for (const queueId of queueIds) {
    // If it fails the next opening tries again.
    if (everExisted('queue', queueId)) lifecycle.deleteRows(queueId).catch(() => undefined);
  }
}

function releasePayloads({ payloads, queues }: ShardedParts, options: ShardedOptions): void {
  payloads.releaseNotLive(({ queueId, shard, seq }) => {
    const row = options.queues.find((queue) => queue.queueId === queueId);
    if (row === undefined) return !options.everExisted('queue', queueId);
    if (isDelayedLog(shard)) return true;
    const log = queues.getOrCreate(row).findLog(shard);
    // A repair may restore messages of a damaged partition, so their payloads are kept.
    return log !== undefined && (log.partitions.hasDamage || log.isLive(seq));
  });
}

/**
 * Messages of a queue that is not in the catalog are removed, since it was dropped. But if the catalog never had the
 * queue, the catalog is damaged or an older copy: throws `COMMITS_MISSING`.
 */
export function assertCatalogKnows(
  { dir, everExisted }: ShardedOptions,
  { partitions, subscriptions }: RecoveredInstance,
): void {
  const queueId = partitions.find((partition) => !everExisted('queue', partition.queueId))?.queueId;
  const unknown = subscriptions.find(({ subscriber }) => !everExisted('subscriber', subscriber));
  const subscriber = unknown?.subscriber;
  if (queueId === undefined && subscriber === undefined) return;
  const what = queueId === undefined ? `subscriber ${subscriber}` : `queue ${queueId}`;
  throw new QueueError('COMMITS_MISSING', {
    message: `There are messages of ${what}, which the catalog of ${dir} never had: the catalog is damaged, or an older copy`,
    details: { dir, queueId, subscriber },
  });
}
