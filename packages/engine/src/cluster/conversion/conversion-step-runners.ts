/**
 * The steps of a conversion. No message is lost, because the mark that stops enqueue is in the file with the messages and
 * every commit checks it: an instance that has not read the catalog since cannot enqueue to a queue that was found empty.
 * A step that writes to that file does so inside its catalog transaction, so the write is durable before the catalog
 * records the step. After a crash in between, the step is simply repeated.
 */

import type { ConversionStep } from '../../api/conversion.ts';
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { pause } from '../../model/pause.ts';
import type { ConversionRow } from '../../storage/catalog/conversion-table.ts';
import type { ConversionFiles } from './conversion-files.ts';

interface StepOptions {
  drainMsMax: number;
  signal: AbortSignal | undefined;
}

type StepRunner = (files: ConversionFiles, row: ConversionRow, options: StepOptions) => Promise<void> | void;

/** Each returns once its step is recorded as done, by this process or another one, or throws the reason why it cannot be. */
export const conversionStepRunners: Readonly<Record<ConversionStep, StepRunner>> = {
  'stop-enqueue': (files) =>
    files.changeUnshardedAndCatalog(({ queueId }, change, unsharded) => {
      change.setEnabled({ enqueue: false });
      unsharded.seal(queueId);
      return 'pass';
    }, 'stop-enqueue'),

  drain: async (files, row, options) => {
    await waitUntilDrained(files, row, options);
    files.changeCatalog(() => 'pass', 'drain');
  },

  'stop-dequeue': (files) =>
    files.changeCatalog((_row, change) => {
      change.setEnabled({ dequeue: false });
      return 'pass';
    }, 'stop-dequeue'),

  'check-empty': checkEmpty,

  drop: (files) =>
    files.changeUnshardedAndCatalog(({ queueId }, _change, unsharded) => {
      unsharded.dropQueue(queueId);
      return 'pass';
    }, 'drop'),

  'size-cache': (files) =>
    files.changeCatalog(({ cacheBytesMax }, change) => {
      if (cacheBytesMax !== null) change.setCacheBytesMax(cacheBytesMax);
      return 'pass';
    }, 'size-cache'),

  create: (files) =>
    files.changeCatalog((_row, change) => {
      change.replaceQueue();
      return 'pass';
    }, 'create'),

  start: (files) =>
    files.changeCatalog((_row, change) => {
      change.setEnabled({ enqueue: true, dequeue: true });
      return 'pass';
    }, 'start'),
};

/** About one second. */
const pollsBetweenReleases = Math.ceil(1_000 / limits.drainPollMs);

/** Resolves when the queue has no ready and no held message. It stays empty, because enqueue is stopped. */
async function waitUntilDrained(
  files: ConversionFiles,
  { queue, queueId }: ConversionRow,
  { drainMsMax, signal }: StepOptions,
): Promise<void> {
  const { clock, timers } = files.ports;
  const untilMs = clock.monotonicMs() + drainMsMax;
  const unsharded = await files.openUnsharded();
  for (let polls = 1; files.findConversion().stage === 'drain'; polls += 1) {
    const { ready, held } = unsharded.counts(queueId);
    if (ready + held === 0) return;
    const isConsumable = files.catalog.queues().some((row) => row.queueId === queueId && row.dequeueEnabled);
    if (clock.monotonicMs() >= untilMs || !isConsumable) {
      throw new QueueError('QUEUE_NOT_DRAINED', {
        message: `${queue} is not empty: ${ready} waiting, ${held} held${isConsumable ? '' : ', and it is stopped for dequeue'}`,
        details: { queue, ready, held },
      });
    }
    // Messages held by processes that died become ready again.
    if (polls % pollsBetweenReleases === 0)
      await files.withWriteLock(() => unsharded.releaseHeldByDeadProcesses());
    await pause(timers, limits.drainPollMs, signal);
    signal?.throwIfAborted();
  }
}

/** Counts the rows instead of trusting the totals. If there are any, dequeue is enabled again. */
async function checkEmpty(files: ConversionFiles, { queue }: ConversionRow): Promise<void> {
  let stored = 0;
  await files.changeUnshardedAndCatalog(({ queueId }, change, unsharded) => {
    stored = unsharded.countStored(queueId);
    if (stored === 0) return 'pass';
    change.setEnabled({ dequeue: true });
    return 'refill';
  }, 'check-empty');
  if (stored > 0) throw new QueueError('QUEUE_NOT_DRAINED', { details: { queue, stored } });
}
