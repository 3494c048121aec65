/**
 * What each step of a conversion does. Nothing is lost, because the mark that stops the enqueue lies in the file of the
 * messages and is checked in every commit: an instance that has not looked into the catalog since cannot add to a queue
 * that was found empty. A step that writes to that file does so inside the catalog's transaction, so its mark there is
 * durable before the catalog says that it is; if it never comes to say so, the step is due again and does it again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { ConversionStep } from '../../core/conversion.ts';
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { ConversionRow } from '../../storage/conversion-table.ts';
import type { ConversionFiles } from './conversion-files.ts';

interface WorkOptions {
  drainMsMax: number;
  signal: AbortSignal | undefined;
}

type Work = (files: ConversionFiles, row: ConversionRow, options: WorkOptions) => Promise<void> | void;

/** Each returns once its step is noted as done, by it or by another process; it throws what keeps it from that. */
export const conversionWork: Readonly<Record<ConversionStep, Work>> = {
  'stop-enqueue': (files) =>
    files.inBoth(({ queueId }, change, unsharded) => {
      change.enable({ enqueue: false });
      unsharded.seal(queueId);
      return 'pass';
    }, 'stop-enqueue'),

  drain: async (files, row, options) => {
    await drained(files, row, options);
    files.inCatalog(() => 'pass', 'drain');
  },

  'stop-dequeue': (files) =>
    files.inCatalog((_row, change) => {
      change.enable({ dequeue: false });
      return 'pass';
    }, 'stop-dequeue'),

  'check-empty': checkEmpty,

  drop: (files) =>
    files.inBoth(({ queueId }, _change, unsharded) => {
      unsharded.drop(queueId);
      return 'pass';
    }, 'drop'),

  'size-cache': (files) =>
    files.inCatalog(({ cacheBytesMax }, change) => {
      if (cacheBytesMax !== null) change.sizeCache(cacheBytesMax);
      return 'pass';
    }, 'size-cache'),

  create: (files) =>
    files.inCatalog((_row, change) => {
      change.replaceQueue();
      return 'pass';
    }, 'create'),

  start: (files) =>
    files.inCatalog((_row, change) => {
      change.enable({ enqueue: true, dequeue: true });
      return 'pass';
    }, 'start'),
};

/** Once in about a second. */
const looksBetweenReleases = Math.ceil(1_000 / limits.drainLookMs);

/** Resolves when nothing waits and nothing is held: since no message can be added, it stays so. */
async function drained(
  files: ConversionFiles,
  { queue, queueId }: ConversionRow,
  { drainMsMax, signal }: WorkOptions,
): Promise<void> {
  const until = performance.now() + drainMsMax;
  const unsharded = await files.unsharded();
  for (let look = 1; files.find().stage === 'drain'; look += 1) {
    const { ready, held } = unsharded.counts(queueId);
    if (ready + held === 0) return;
    const isTaken = files.catalog.queues().some((row) => row.queueId === queueId && row.dequeueEnabled);
    if (performance.now() >= until || !isTaken) {
      throw new QueueError('QUEUE_NOT_DRAINED', {
        sentence: `${queue} is not empty: ${ready} waiting, ${held} held${isTaken ? '' : ', and it is stopped for dequeue'}`,
        details: { queue, ready, held },
      });
    }
    // What processes held that died goes back to those who live.
    if (look % looksBetweenReleases === 0) await files.inTurn(() => unsharded.releaseOfTheDead());
    await pause(limits.drainLookMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}

/** Counts what lies in the table rather than trust the totals; what there is goes to consumers again. */
async function checkEmpty(files: ConversionFiles, { queue }: ConversionRow): Promise<void> {
  let stored = 0;
  await files.inBoth(({ queueId }, change, unsharded) => {
    stored = unsharded.stored(queueId);
    if (stored === 0) return 'pass';
    change.enable({ dequeue: true });
    return 'refill';
  }, 'check-empty');
  if (stored > 0) throw new QueueError('QUEUE_NOT_DRAINED', { details: { queue, stored } });
}
