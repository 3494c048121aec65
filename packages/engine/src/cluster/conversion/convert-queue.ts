/**
 * Turns an unsharded queue into a sharded one of the same name, in the steps of `core/conversion.ts`. It needs the folder
 * and nothing else: instances may serve the queue meanwhile, in whatever processes, or none may.
 *
 * Each step is one transaction of the catalog, done by whoever finds it due, so it can be killed anywhere and driven by two
 * at once. How nothing is lost: `conversion-work.ts`.
 */
import { canCancel, conversionSteps } from '../../core/conversion.ts';
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { checkSpec } from '../../instance/queue-spec.ts';
import { exceptionQueueName, type NewQueueRow } from '../../storage/catalog.ts';
import type { ConversionRow } from '../../storage/conversion-table.ts';
import type { Conversion, ConvertOptions } from '../../types.ts';
import { ConversionFiles } from './conversion-files.ts';
import { conversionWork } from './conversion-work.ts';

/**
 * Begins the conversion of a queue, or goes on with one that was begun, and resolves when it is done. Throws
 * `QUEUE_NOT_FOUND`, `QUEUE_NOT_CONVERTIBLE`, `QUEUE_SPEC_INVALID`, `OPTIONS_INVALID`, `QUEUE_EXISTS` for an exception queue
 * that is there already, `CONVERSION_NOT_FOUND` if somebody cancels it, the storage errors, and the reason of `signal`.
 * `QUEUE_NOT_DRAINED`: the enqueue stays stopped, and the conversion waits to be gone on with or cancelled.
 */
export async function convertQueue(options: ConvertOptions): Promise<Conversion> {
  const { dir, queue, drainMsMax = limits.drainMsDefault, signal, onStep } = options;
  checkOptions(options);
  const files = new ConversionFiles(dir, queue);
  try {
    let row = begin(files, options);
    for (;;) {
      onStep?.(toConversion(row));
      if (row.stage === 'done') return toConversion(row);
      signal?.throwIfAborted();
      await conversionWork[row.stage](files, row, { drainMsMax, signal });
      row = files.find();
    }
  } finally {
    await files.close();
  }
}

/** The unsharded queue goes on as it was before. Throws `CONVERSION_NOT_FOUND`, `CONVERSION_PAST_CANCEL`. */
export async function cancelConversion({ dir, queue }: { dir: string; queue: string }): Promise<void> {
  const files = new ConversionFiles(dir, queue);
  try {
    assertCanCancel(files.find());
    await files.inBoth((row, _change, unsharded) => {
      assertCanCancel(row);
      unsharded.unseal(row.queueId);
      return 'cancel';
    });
  } finally {
    await files.close();
  }
}

/** How far the conversion of a queue is, or how it ended; undefined if there was none. */
export async function readConversion({
  dir,
  queue,
}: {
  dir: string;
  queue: string;
}): Promise<Conversion | undefined> {
  const files = new ConversionFiles(dir, queue);
  try {
    const row = files.catalog.conversion(queue);
    return row && toConversion(row);
  } finally {
    await files.close();
  }
}

function begin(files: ConversionFiles, options: ConvertOptions): ConversionRow {
  const { queue, shards, priorities, attemptsMax, retryDelayMs } = options;
  const begun = files.catalog.conversion(queue);
  if (begun !== undefined) return assertSame(begun, options);
  const queues = files.catalog.queues();
  const old = queues.find(({ name }) => name === queue);
  if (old === undefined) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue } });
  const settings = checkSpec({
    name: queue,
    kind: 'sharded',
    durability: old.durability,
    ...(shards !== undefined && { shards }),
    ...(priorities !== undefined && { priorities }),
    ...(attemptsMax !== undefined && { attemptsMax }),
    ...(retryDelayMs !== undefined && { retryDelayMs }),
  });
  const exceptions = exceptionQueueName(queue);
  if (settings.attemptsMax !== null && queues.some(({ name }) => name === exceptions)) {
    throw new QueueError('QUEUE_EXISTS', { details: { queue: exceptions } });
  }
  const cacheBytesMax = options.cacheBytesMax ?? null;
  return files.catalog.beginConversion({ settings, cacheBytesMax, nowMs: Date.now() });
}

/** What was asked for at the beginning holds: to change it, the conversion is cancelled and begun anew. */
function assertSame(row: ConversionRow, options: ConvertOptions): ConversionRow {
  const begun: NewQueueRow & { cacheBytesMax: number | null } = {
    ...row.settings,
    cacheBytesMax: row.cacheBytesMax,
  };
  for (const name of ['shards', 'priorities', 'attemptsMax', 'retryDelayMs', 'cacheBytesMax'] as const) {
    if (options[name] === undefined || options[name] === begun[name]) continue;
    throw new QueueError('OPTIONS_INVALID', {
      sentence: `The conversion of ${row.queue} was begun with ${name} ${String(begun[name])}; cancel it to begin with another`,
      details: { option: name, value: options[name], begun: begun[name] },
    });
  }
  return row;
}

function checkOptions({ cacheBytesMax, drainMsMax }: ConvertOptions): void {
  assertRange('cacheBytesMax', cacheBytesMax, limits.cacheBytesMin, limits.cacheBytesMax);
  assertRange('drainMsMax', drainMsMax, 0, limits.drainMsMax);
}

function assertRange(option: string, value: number | undefined, least: number, most: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return;
  throw new QueueError('OPTIONS_INVALID', {
    sentence: `${option} is ${value}; a whole number from ${least} to ${most} is needed`,
    details: { option, value, least, most },
  });
}

function assertCanCancel({ queue, stage }: ConversionRow): void {
  if (!canCancel(stage)) throw new QueueError('CONVERSION_PAST_CANCEL', { details: { queue, stage } });
}

function toConversion(row: ConversionRow): Conversion {
  const { queue, stage, cacheBytesMax, startedAtMs, passed } = row;
  const { shards, durability, priorities, attemptsMax, retryDelayMs } = row.settings;
  const passedAtMs = new Map(passed.map(({ step, atMs }) => [step, atMs]));
  return {
    queue,
    stage,
    steps: conversionSteps.map((step) => ({ step, passedAtMs: passedAtMs.get(step) ?? null })),
    startedAtMs,
    canCancel: canCancel(stage),
    settings: { shards, durability, priorities, attemptsMax, retryDelayMs, cacheBytesMax },
  };
}
