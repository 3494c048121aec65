/** The options of an instance, with their defaults. They are checked before a file is opened or a thread started. */

import { QueueError } from '../api/errors.ts';
import type { InstanceOptions } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import { invalidArgument } from '../model/call-arguments.ts';
import type { EmulatedSync } from '../model/emulated-sync.ts';

/** Throws `OPTIONS_INVALID`. */
export function validateInstanceOptions(options: InstanceOptions) {
  return {
    emulatedSync: emulatedSyncOf(options),
    emulatedInterconnectMs: validateRange(
      'emulatedInterconnectMs',
      options.emulatedInterconnectMs ?? 0,
      0,
      limits.emulatedInterconnectMsMax,
    ),
    partitionMessagesMax: validatePartitionMessagesMax(
      options.partitionMessagesMax ?? limits.partitionMessagesMax,
    ),
    logBytesMax: validateRange(
      'logBytesMax',
      options.logBytesMax ?? limits.logBytesMaxDefault,
      limits.logBytesMaxMin,
      limits.logBytesMaxMax,
    ),
    sampleIntervalMs: validateRange(
      'sampleIntervalMs',
      options.sampleIntervalMs ?? limits.sampleMsDefault,
      limits.sampleMsMin,
      limits.sampleMsMax,
    ),
    scrubIntervalMs: validateRange(
      'scrubIntervalMs',
      options.scrubIntervalMs ?? limits.scrubMsDefault,
      limits.scrubMsMin,
      limits.scrubMsMax,
    ),
    traceEvery: validateTraceEvery(options.traceEvery ?? limits.traceEveryDefault),
    writerReservationMsMax: validateRange(
      'writerReservationMsMax',
      options.writerReservationMsMax ?? limits.writerReservationMsDefault,
      1,
      limits.writerReservationMsMax,
    ),
    sqlLockMsMax: validateRange(
      'sqlLockMsMax',
      options.sqlLockMsMax ?? limits.sqlLockMsDefault,
      1,
      limits.sqlLockMsMax,
    ),
  };
}

function emulatedSyncOf({ emulatedSyncMs = 0, emulatedSyncDevice }: InstanceOptions): EmulatedSync {
  const { emulatedSyncMsMax, emulatedSyncTimesMax } = limits;
  if (typeof emulatedSyncMs !== 'number' && !Array.isArray(emulatedSyncMs))
    throw invalidArgument('emulatedSyncMs', 'a time or an array of times', emulatedSyncMs);
  const times = typeof emulatedSyncMs === 'number' ? [emulatedSyncMs] : [...emulatedSyncMs];
  validateRange('The number of emulatedSyncMs', times.length, 1, emulatedSyncTimesMax);
  for (const ms of times) validateRange('emulatedSyncMs', ms, 0, emulatedSyncMsMax);
  return { times, device: emulatedSyncDevice };
}

function validatePartitionMessagesMax(partitionMessagesMax: number): number {
  const { partitionMessagesMax: most } = limits;
  if (Number.isInteger(partitionMessagesMax) && partitionMessagesMax >= 1 && partitionMessagesMax <= most) {
    return partitionMessagesMax;
  }
  throw new QueueError('OPTIONS_INVALID', { message: `partitionMessagesMax must be 1 to ${most}` });
}

/** It must be a power of two, so that some bits of a number decide whether a message is sampled. */
function validateTraceEvery(traceEvery: number): number {
  const { traceEveryMin: least, traceEveryMax: most } = limits;
  if (traceEvery === 0) return 0;
  if (traceEvery >= least && traceEvery <= most && Number.isInteger(Math.log2(traceEvery))) return traceEvery;
  const message = `traceEvery must be 0 or a power of two from ${least} to ${most}`;
  throw new QueueError('OPTIONS_INVALID', { message });
}

function validateRange(option: string, value: number, least: number, most: number): number {
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new QueueError('OPTIONS_INVALID', { message: `${option} must be ${least} to ${most}` });
}
