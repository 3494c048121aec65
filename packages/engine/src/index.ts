/** All that is public of the engine. */

import './supported-node.ts';

export {
  type Capability,
  localCapabilities,
  type StoreCapabilities,
  type StoreFeature,
  storeFeatures,
} from './api/capabilities.ts';
export {
  CodedError,
  type ErrorContext,
  type ErrorDefinition,
} from './api/coded-error.ts';
export type * from './api/consumer.ts';
export {
  type Conversion,
  type ConversionStage,
  type ConversionStep,
  type ConvertOptions,
  conversionSteps,
} from './api/conversion.ts';
export type * from './api/coordinator.ts';
export { type Counter, type CounterInfo, counters, registerCounter } from './api/counters.ts';
export { latencyBucketOf, latencyQuantileMs } from './api/delivery-latency.ts';
export { type ErrorKind, errorRegistry, QueueError, type QueueErrorCode } from './api/errors.ts';
export { RejectMessage, RetryLater } from './api/handler-errors.ts';
export type * from './api/instance.ts';
export type * from './api/instance-stats.ts';
export type * from './api/message.ts';
export { type MessageEventKind, messageEventKinds } from './api/message-event-kinds.ts';
export type * from './api/message-trace.ts';
export type * from './api/queue.ts';
export type { AttemptsCounted, Durability, QueueKind, QueueType, Visibility } from './api/queue-settings.ts';
export type * from './api/queue-stats.ts';
export type * from './api/service.ts';
export type * from './api/session.ts';
export type * from './api/shared-queue.ts';
export type * from './api/sql.ts';
export type * from './api/store.ts';
export type * from './api/subscriber.ts';
export {
  type HolderSample,
  type HolderSamples,
  registerWaitEvent,
  type SessionTime,
  type SessionTimes,
  type StateObserver,
  sessionStates,
  type WaitClass,
  type WaitEvent,
  type WaitEventInfo,
  type WaitLog,
  type WaitStats,
  waitBucketsPerDoubling,
  waitEvents,
  waitQuantileMs,
} from './api/waits.ts';
export {
  type XaBranchPlace,
  type XaCommitOptions,
  type XaEnd,
  type XaResource,
  type XaSession,
  type XaStartOptions,
  type XaVote,
  type Xid,
  xaCodes,
} from './api/xa.ts';
export { splitReceipts, withInstancePrefix } from './client/cluster-receipts.ts';
export { backupFolder, type FolderBackup } from './cluster/backup-folder.ts';
export { checkFolder, type FolderCheck, type FolderRepair, repairFolder } from './cluster/check-folder.ts';
export type * from './cluster/cluster.ts';
export type { ClusterEvent, ClusterEventType } from './cluster/cluster-events.ts';
export { type ConnectOptions, connect } from './cluster/connect.ts';
export { type ConnectClusterOptions, connectCluster } from './cluster/connect-cluster.ts';
export { cancelConversion, convertQueue, readConversion } from './cluster/conversion/convert-queue.ts';
export { readMembers } from './cluster/read-members.ts';
export { type ServeOptions, serveInstance } from './cluster/serve-instance-with-peers.ts';
export { startCluster } from './cluster/supervisor/start-cluster.ts';
export { openThreadSession } from './contention/open-thread-session.ts';
export { shareQueue } from './contention/share-queue.ts';
export { commitWriteMs, logFileSync } from './model/commit-waits.ts';
export { exceptionProperties } from './model/failed-attempts.ts';
export { type DrainEstimate, estimateDrain, type Flow } from './model/rate-window.ts';
export { isStoreAddress, parseStoreAddress } from './model/store-address.ts';
export { WaitRecorder } from './model/wait-recorder.ts';
export { payloadRead } from './queues/payloads/payload-store.ts';
export { waitingForMessages } from './queues/waiters.ts';
export { openInstance } from './runtime/open-instance.ts';
export {
  type ConsumeOptions,
  type EmbeddedQueue,
  type OpenNatsQueueOptions,
  type OpenQueueOptions,
  openQueue,
  type StoreQueue,
} from './runtime/open-queue.ts';
export type { ServedInstance } from './server/serve-instance.ts';
export type {
  DamagedPartition,
  InstanceFileCheck,
} from './storage/instance-file/recovery/check-instance-file.ts';
export { socketPath } from './storage/socket-path.ts';
export { sqliteVersion } from './storage/sqlite/open-sqlite.ts';
export { makeFolder } from './storage/sqlite/sync-folder.ts';
export { writeLock, writeLockElsewhereMs } from './unsharded/write-lock.ts';
export { type SqlValueJson, valueFromJson, valueToJson } from './wire/sql-json.ts';
export { preparesPassedOn } from './xa/passed-on-calls.ts';
