/**
 * Turns an unsharded queue into a sharded one of the same name, in the steps of `model/conversion.ts`. It needs only the
 * folder; any number of processes may serve the queue meanwhile.
 *
 * Each step is one transaction of the catalog. So a conversion can be killed at any point, continued by any process, and
 * driven by two processes at once. `conversion-step-runners.ts` says why no message is lost.
 */

import type { Conversion, ConvertOptions } from '../../api/conversion.ts';
import { conversionSteps } from '../../api/conversion.ts';
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { QueueSettingName } from '../../api/queue-settings.ts';
import { assertFields, assertName, fieldsOf } from '../../model/call-arguments.ts';
import { convertFields } from '../../model/call-fields.ts';
import { canCancel } from '../../model/conversion.ts';
import { exceptionQueueName, type NewQueueRow } from '../../model/queue-row.ts';
import { validateRange } from '../../model/session-calls.ts';
import { nodePorts } from '../../node-ports.ts';
import { validateQueueSpec } from '../../runtime/validate-queue-spec.ts';
import type { ConversionRow } from '../../storage/catalog/conversion-table.ts';
import { ConversionFiles } from './conversion-files.ts';
import { conversionStepRunners } from './conversion-step-runners.ts';

type ConversionPlace = Pick<ConvertOptions, 'dir' | 'queue'>;

const placeFields = fieldsOf<ConversionPlace>('A conversion', { dir: 'string', queue: 'string' });

function assertPlace({ dir, queue }: ConversionPlace): void {
  assertName('dir', dir);
  assertName('queue', queue);
}

/**
 * Begins the conversion of a queue, or continues one that was begun, and resolves when it is done. Throws `QUEUE_NOT_FOUND`,
 * `QUEUE_NOT_CONVERTIBLE`, `QUEUE_SPEC_INVALID`, `OPTIONS_INVALID`, `QUEUE_EXISTS` for an exception queue that is there already,
 * `CONVERSION_NOT_FOUND` if it is cancelled meanwhile, the storage errors, and the reason of `signal`. `QUEUE_NOT_DRAINED`:
 * enqueue stays stopped, and the conversion can be continued or cancelled.
 */
export async function convertQueue(options: ConvertOptions): Promise<Conversion> {
  validateOptions(options);
  const { dir, queue, drainMsMax = limits.drainMsDefault, signal, onStep } = options;
  const files = new ConversionFiles(dir, queue, nodePorts);
  try {
    let row = beginOrContinue(files, options);
    for (;;) {
      onStep?.(toConversion(row));
      if (row.stage === 'done') return toConversion(row);
      signal?.throwIfAborted();
      await conversionStepRunners[row.stage](files, row, { drainMsMax, signal });
      row = files.findConversion();
    }
  } finally {
    await files.close();
  }
}

/** Cancels the conversion; the unsharded queue works as before. Throws `CONVERSION_NOT_FOUND`, `CONVERSION_PAST_CANCEL`. */
export async function cancelConversion(place: ConversionPlace): Promise<void> {
  assertFields(place, placeFields);
  assertPlace(place);
  const { dir, queue } = place;
  const files = new ConversionFiles(dir, queue, nodePorts);
  try {
    assertCanCancel(files.findConversion());
    await files.changeUnshardedAndCatalog((row, _change, unsharded) => {
      assertCanCancel(row);
      unsharded.unseal(row.queueId);
      return 'cancel';
    });
  } finally {
    await files.close();
  }
}

/** The state of a queue's conversion, also after its end; undefined if there was none. */
export async function readConversion(place: ConversionPlace): Promise<Conversion | undefined> {
  assertFields(place, placeFields);
  assertPlace(place);
  const { dir, queue } = place;
  const files = new ConversionFiles(dir, queue, nodePorts);
  try {
    const row = files.catalog.conversion(queue);
    return row && toConversion(row);
  } finally {
    await files.close();
  }
}

/** Settings of the new queue that a conversion can choose. The durability is the old queue's, the others are the defaults. */
const choosableSettings = [
  'shards',
  'priorities',
  'attemptsMax',
  'retryDelayMs',
] as const satisfies readonly QueueSettingName[];

function chosenSettingsOf(options: ConvertOptions): Pick<ConvertOptions, (typeof choosableSettings)[number]> {
  const chosen = choosableSettings.filter((name) => options[name] !== undefined);
  return Object.fromEntries(chosen.map((name) => [name, options[name]]));
}

function beginOrContinue(files: ConversionFiles, options: ConvertOptions): ConversionRow {
  const { queue } = options;
  const begun = files.catalog.conversion(queue);
  if (begun !== undefined) return assertSameOptions(begun, options);
  const queues = files.catalog.queues();
  const old = queues.find(({ name }) => name === queue);
  if (old === undefined) throw new QueueError('QUEUE_NOT_FOUND', { details: { queue } });
  const user = queues.find(({ exceptionQueueId }) => exceptionQueueId === old.queueId);
  if (user !== undefined) throw new QueueError('QUEUE_IN_USE', { details: { queue, user: user.name } });
  const settings = validateQueueSpec({
    name: queue,
    kind: 'sharded',
    durability: old.durability,
    ...chosenSettingsOf(options),
  });
  const exceptions = exceptionQueueName(queue);
  if (typeof options.attemptsMax === 'number' && queues.some(({ name }) => name === exceptions)) {
    throw new QueueError('QUEUE_EXISTS', { details: { queue: exceptions } });
  }
  const cacheBytesMax = options.cacheBytesMax ?? null;
  return files.catalog.beginConversion({ settings, cacheBytesMax, nowMs: files.ports.clock.epochMs() });
}

/** The options are fixed at the beginning; to change them, cancel the conversion and begin it anew. */
function assertSameOptions(row: ConversionRow, options: ConvertOptions): ConversionRow {
  const begun: NewQueueRow & { cacheBytesMax: number | null } = {
    ...row.settings,
    cacheBytesMax: row.cacheBytesMax,
  };
  for (const name of [...choosableSettings, 'cacheBytesMax'] as const) {
    if (options[name] === undefined || options[name] === begun[name]) continue;
    throw new QueueError('OPTIONS_INVALID', {
      message: `The conversion of ${row.queue} was begun with ${name} ${String(begun[name])}; cancel it to begin with another`,
      details: { option: name, value: options[name], begun: begun[name] },
    });
  }
  return row;
}

function validateOptions(options: ConvertOptions): void {
  assertFields(options, convertFields);
  assertPlace(options);
  const { cacheBytesMax, drainMsMax } = options;
  if (cacheBytesMax !== undefined)
    validateRange('cacheBytesMax', cacheBytesMax, limits.cacheBytesMin, limits.cacheBytesMax);
  if (drainMsMax !== undefined) validateRange('drainMsMax', drainMsMax, 0, limits.drainMsMax);
}

function assertCanCancel({ queue, stage }: ConversionRow): void {
  if (!canCancel(stage)) throw new QueueError('CONVERSION_PAST_CANCEL', { details: { queue, stage } });
}

function toConversion(row: ConversionRow): Conversion {
  const { queue, stage, cacheBytesMax, startedAtMs, completedSteps } = row;
  const { shards, durability, priorities, attemptsMax, retryDelayMs } = row.settings;
  const passedAtMs = new Map(completedSteps.map(({ step, atMs }) => [step, atMs]));
  return {
    queue,
    stage,
    steps: conversionSteps.map((step) => ({ step, passedAtMs: passedAtMs.get(step) ?? null })),
    startedAtMs,
    canCancel: canCancel(stage),
    settings: { shards, durability, priorities, attemptsMax, retryDelayMs, cacheBytesMax },
  };
}
