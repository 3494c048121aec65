/** Errors of the JetStream API (`server/errors.json` of nats-server) as the engine's. */
import { QueueError } from '@shardlab/engine';

export interface ServerError {
  code?: number;
  err_code?: number;
  description?: string;
}

export const apiErrorCodes = {
  streamNotFound: 10059,
  streamNameInUse: 10058,
  subjectsOverlap: 10065,
  consumerNotFound: 10014,
  consumerExists: 10148,
  messageNotFound: 10037,
  batchTooLarge: 10199,
  /** A batch with a message id that is stored already. */
  batchDuplicate: 10201,
  /** Passes by itself: no leader yet, a duplicate that is being stored, a batch that lost a part, too many batches. */
  temporary: new Set([10008, 10009, 10118, 10119, 10158, 10176, 10210, 10211]),
} as const;

const replicas = new Set([10005, 10074]);
const storage = new Set([10002, 10023, 10028, 10047, 10077, 10122]);
const messageTooLarge = 10054;
const configInvalid = 10052;

export function queueErrorOf(error: ServerError): QueueError {
  const { err_code: number = 0, description = 'no reason given' } = error;
  const context = { details: { server: { code: number, description } } };
  const withReason = (sentence: string) => ({ ...context, message: `${sentence}: ${description}` });
  if (number === apiErrorCodes.streamNotFound) return new QueueError('QUEUE_NOT_FOUND', context);
  if (number === apiErrorCodes.consumerNotFound) return new QueueError('SUBSCRIBER_NOT_FOUND', context);
  if (number === apiErrorCodes.subjectsOverlap) return new QueueError('STREAM_FOREIGN', context);
  if (number === apiErrorCodes.batchTooLarge) return new QueueError('TX_TOO_LARGE', context);
  if (number === messageTooLarge) return new QueueError('PAYLOAD_TOO_LARGE', context);
  if (number === configInvalid)
    return new QueueError('QUEUE_SPEC_INVALID', withReason('The servers refuse the queue'));
  if (replicas.has(number)) return new QueueError('REPLICAS_UNAVAILABLE', context);
  if (storage.has(number)) return new QueueError('STORAGE_FULL', withReason('The servers have no room'));
  return new QueueError('STORAGE_FAILED', withReason('The servers refused'));
}
