/**
 * For another store behind the session API: the rules of calls, messages and specifications, so that both stores accept and
 * refuse the same, and the shard of a group key.
 */
export { hashGroupKey } from './model/group-key.ts';
export { exceptionQueueName } from './model/queue-row.ts';
export {
  assertTransactionSize,
  messagesWithin,
  recordBytes,
  SessionGuard,
  validateDequeueOptions,
  validateHoldMs,
  validateSubscriber,
} from './model/session-calls.ts';
export { subscriberNameFault } from './model/subscriber-name.ts';
export { withExceptionReason } from './queues/retries.ts';
export { validateQueueSpec } from './runtime/validate-queue-spec.ts';
