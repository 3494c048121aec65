/**
 * For another store behind the session API: the rules of calls, messages and specifications, so that both stores accept and
 * refuse the same, and the shard of a group key.
 */
export {
  assertFields,
  assertFunction,
  assertName,
  assertTexts,
  type Fields,
  fieldsOf,
  invalidArgument,
} from './model/call-arguments.ts';
export {
  browseFields,
  clientSessionFields,
  dropQueueFields,
  natsConnectionKinds,
  natsStoreOptionKinds,
  queueSettingKinds,
  receiveFields,
  subscriberFields,
  whichFields,
} from './model/call-fields.ts';
export {
  RecentFailures,
  type ValidReturn,
  validateReturn,
  withExceptionReason,
} from './model/failed-attempts.ts';
export { hashGroupKey } from './model/group-key.ts';
export { assertNoExceptions, exceptionQueueName } from './model/queue-row.ts';
export { attemptsUsedUp, countsOnDelivery, retryDelayOf } from './model/retry-life.ts';
export {
  assertNewMessage,
  assertTransactionSize,
  messagesWithin,
  recordBytes,
  SessionGuard,
  type ValidatedDequeueOptions,
  validateCommitOptions,
  validateDequeueOptions,
  validateHoldMs,
  validateSubscriber,
} from './model/session-calls.ts';
export { subscriberNameFault } from './model/subscriber-name.ts';
export { type DeliveryEnd, endOfFailedCommit } from './queues/retries.ts';
export { validateQueueSpec } from './runtime/validate-queue-spec.ts';
