/** All that is public of the engine. */
export { type ErrorKind, errorRegistry, QueueError, type QueueErrorCode } from './core/errors.ts';
export { type WaitClass, type WaitEvent, WaitRecorder, type WaitStats, waitQuantileMs } from './core/waits.ts';
export { openInstance } from './instance/open-instance.ts';
export type * from './types.ts';
