/** All that is public of the engine. */

export { checkFolder, type FolderCheck, type FolderRepair, repairFolder } from './cluster/check-folder.ts';
export type { ClusterEvent, ClusterEventType } from './cluster/cluster-events.ts';
export { cancelConversion, convertQueue, readConversion } from './cluster/conversion/convert-queue.ts';
export { openInstance } from './cluster/open-instance.ts';
export {
  type ConsumeOptions,
  type EmbeddedQueue,
  type OpenQueueOptions,
  openQueue,
} from './cluster/open-queue.ts';
export { type ConnectOptions, connect } from './cluster/remote/connect.ts';
export { type ConnectClusterOptions, connectCluster } from './cluster/remote/connect-cluster.ts';
export { type ServedInstance, type ServeOptions, serveInstance } from './cluster/remote/serve-instance.ts';
export { type SqlValueJson, valueFromJson, valueToJson } from './cluster/remote/sql-json.ts';
export type * from './cluster/supervisor/cluster.ts';
export { startCluster } from './cluster/supervisor/start-cluster.ts';
export { CodedError, type CodeEntry, type ErrorFacts } from './core/coded-error.ts';
export { type ConversionStage, type ConversionStep, conversionSteps } from './core/conversion.ts';
export { type ErrorKind, errorRegistry, QueueError, type QueueErrorCode } from './core/errors.ts';
export { type DrainEstimate, estimateDrain, type Flow } from './core/rate-window.ts';
export {
  type WaitClass,
  type WaitEvent,
  WaitRecorder,
  type WaitStats,
  waitQuantileMs,
} from './core/waits.ts';
export type * from './queue-stats.ts';
export type { DamagedPartition, InstanceCheck } from './storage/check-instance.ts';
export { readMembers } from './storage/membership.ts';
export { sqliteVersion } from './storage/sqlite.ts';
export type * from './types.ts';
