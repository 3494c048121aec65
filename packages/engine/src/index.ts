/** All that is public of the engine. */

export { openInstance } from './cluster/open-instance.ts';
export {
  type ConsumeOptions,
  type EmbeddedQueue,
  type OpenQueueOptions,
  openQueue,
} from './cluster/open-queue.ts';
export { type ErrorKind, errorRegistry, QueueError, type QueueErrorCode } from './core/errors.ts';
export {
  type WaitClass,
  type WaitEvent,
  WaitRecorder,
  type WaitStats,
  waitQuantileMs,
} from './core/waits.ts';
export { sqliteVersion } from './storage/sqlite.ts';
export type * from './types.ts';
