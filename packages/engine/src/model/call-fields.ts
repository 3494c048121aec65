/** The fields of all that callers pass to sessions, instances and stores, once each: a new field must be added here to compile. */
import type {
  ClientSessionOptions,
  ConsumerOptions,
  ProducerOptions,
  ReceiveMessageOptions,
} from '../api/consumer.ts';
import type { ConvertOptions } from '../api/conversion.ts';
import type { GlobalTransactionOptions } from '../api/coordinator.ts';
import type { Instance, InstanceOptions } from '../api/instance.ts';
import type { NewMessage, StreamedMessage } from '../api/message.ts';
import type { DropQueueOptions, QueueSpec } from '../api/queue.ts';
import { type GivenQueueSettings, queueSettingNames } from '../api/queue-settings.ts';
import type { ServiceSpec } from '../api/service.ts';
import type { CommitOptions, DequeueOptions, ReceiveOptions, ReturnOptions } from '../api/session.ts';
import type { SharedDequeueOptions, SharedEnqueueOptions, ShareQueueOptions } from '../api/shared-queue.ts';
import type { NatsOptions, NatsStoreOptions } from '../api/store.ts';
import type { SubscriberSpec } from '../api/subscriber.ts';
import type { XaBranchPlace, XaCommitOptions, XaStartOptions, Xid } from '../api/xa.ts';
import { type FieldTable, fieldsOf } from './call-arguments.ts';

const message = {
  payload: 'any',
  correlationId: 'any',
  groupKey: 'any',
  properties: 'any',
  priority: 'any',
  delayMs: 'any',
  recipients: 'any',
} as const;
export const messageFields = fieldsOf<NewMessage>('A message', message, 'MESSAGE_INVALID');
export const streamedMessageFields = fieldsOf<StreamedMessage>(
  'A streamed message',
  { ...message, bytes: 'number', signal: 'signal', idempotencyKey: 'any' },
  'MESSAGE_INVALID',
);

const dequeue = { max: 'number', waitMs: 'number', subscriber: 'string', signal: 'signal' } as const;
export const dequeueFields = fieldsOf<DequeueOptions>('A dequeue', dequeue);
export const receiveFields = fieldsOf<ReceiveOptions>('A receive', {
  ...dequeue,
  holdMs: 'number',
  bytesMax: 'number',
  sameInstanceAs: 'string',
});
export const returnFields = fieldsOf<ReturnOptions>('A return', {
  error: 'any',
  delayMs: 'number',
  reject: 'boolean',
});
export const commitFields = fieldsOf<CommitOptions>('A commit', { idempotencyKey: 'any' });

export const clientSessionFields = fieldsOf<ClientSessionOptions>('A session', { prefetch: 'number' });
export const consumerFields = fieldsOf<ConsumerOptions>('A consumer', {
  subscriber: 'string',
  ackMode: 'string',
  messagesMaximum: 'number',
  prefetch: 'boolean',
  listener: 'function',
  onError: 'function',
  fair: 'boolean',
  holdMs: 'number',
});
const receiveOne = { waitMs: 'number', signal: 'signal' } as const;
export const receiveOneFields = fieldsOf<ReceiveMessageOptions>('A receive of a consumer', receiveOne);
export const receiveBatchFields = fieldsOf<ReceiveMessageOptions & { max?: number }>(
  'A receive of a consumer',
  { ...receiveOne, max: 'number' },
);
export const producerFields = fieldsOf<ProducerOptions>('A producer', { oneWay: 'any', blockMs: 'number' });
export const oneWayFields = fieldsOf<NonNullable<ProducerOptions['oneWay']>>('oneWay', {
  windowMessages: 'number',
});

export const instanceOptionKinds = {
  dir: 'string',
  instance: 'number',
  cacheBytesMax: 'number',
  partitionMessagesMax: 'number',
  emulatedSyncMs: 'any',
  emulatedSyncDevice: 'string',
  emulatedInterconnectMs: 'number',
  logBytesMax: 'number',
  sampleIntervalMs: 'number',
  traceEvery: 'number',
  scrubIntervalMs: 'number',
  writerReservationMsMax: 'number',
  sqlLockMsMax: 'number',
  services: 'any',
} as const;
export const instanceFields = fieldsOf<InstanceOptions>('An instance', instanceOptionKinds);
export const whichFields = fieldsOf<NonNullable<Parameters<Instance['startQueue']>[1]>>(
  'Starting or stopping a queue',
  { enqueue: 'boolean', dequeue: 'boolean' },
);
export const dropQueueFields = fieldsOf<DropQueueOptions>('Dropping a queue', { withExceptions: 'boolean' });
export const subscriberFields = fieldsOf<SubscriberSpec>('A subscriber', { name: 'any', durable: 'boolean' });
export const browseFields = fieldsOf<NonNullable<Parameters<Instance['browse']>[1]>>('A browse', {
  limit: 'number',
  after: 'string',
  subscriber: 'string',
  correlationId: 'string',
  processed: 'boolean',
  bytesMax: 'number',
  state: 'string',
});
export const tracedMessagesFields = fieldsOf<NonNullable<Parameters<Instance['tracedMessages']>[1]>>(
  'tracedMessages',
  { limit: 'number' },
);
export const serviceFields = fieldsOf<ServiceSpec>(
  'A service',
  { name: 'any', preferred: 'any', module: 'any', options: 'any' },
  'SERVICE_SPEC_INVALID',
);
export const convertFields = fieldsOf<ConvertOptions>('A conversion', {
  dir: 'string',
  queue: 'string',
  shards: 'number',
  priorities: 'boolean',
  attemptsMax: 'number',
  retryDelayMs: 'number',
  cacheBytesMax: 'number',
  drainMsMax: 'number',
  signal: 'signal',
  onStep: 'function',
});

/** Of each setting its own declaration checks the value. */
export const queueSettingKinds = Object.fromEntries(
  queueSettingNames.map((name) => [name, 'any']),
) as unknown as FieldTable<GivenQueueSettings>;
export const queueSpecFields = fieldsOf<QueueSpec>(
  'A queue',
  { name: 'any', ...queueSettingKinds },
  'QUEUE_SPEC_INVALID',
);

export const natsConnectionKinds = {
  user: 'string',
  password: 'string',
  token: 'string',
  credentials: 'string',
  credentialsFile: 'string',
  tls: 'any',
  callMs: 'number',
} as const;
export const natsStoreOptionKinds = {
  ...natsConnectionKinds,
  sync: 'string',
  transactions: 'string',
  replicas: 'number',
  ackWaitMs: 'number',
  prefetch: 'number',
  outcomeMs: 'number',
} as const satisfies FieldTable<NatsStoreOptions>;
export const natsOptionKinds = {
  nats: 'any',
  ...natsStoreOptionKinds,
} as const satisfies FieldTable<NatsOptions>;

const globalTransaction = {
  timeoutMs: 'number',
  coupling: 'string',
  home: 'number',
  lockWaitMs: 'number',
  lock: 'string',
} as const;
export const globalTransactionFields = fieldsOf<GlobalTransactionOptions>(
  'A distributed transaction',
  globalTransaction,
  'XAER_INVAL',
);
export const xaStartFields = fieldsOf<XaStartOptions>(
  'The start of a branch',
  { flag: 'any', ...globalTransaction },
  'XAER_INVAL',
);
export const xaCommitFields = fieldsOf<XaCommitOptions>(
  'The commit of a branch',
  { instance: 'number', onePhase: 'boolean' },
  'XAER_INVAL',
);
export const xaPlaceFields = fieldsOf<XaBranchPlace>(
  'A call about a branch',
  { instance: 'number' },
  'XAER_INVAL',
);
export const xidFields = fieldsOf<Xid>(
  'An xid',
  { formatId: 'any', gtrid: 'any', bqual: 'any' },
  'XAER_INVAL',
);

export const shareQueueFields = fieldsOf<ShareQueueOptions>('A shared queue', {
  queue: 'string',
  sessionsMax: 'number',
  subscribersMax: 'number',
  copies: 'number',
  traceEventsMax: 'number',
});
export const sharedEnqueueFields = fieldsOf<SharedEnqueueOptions>('An enqueue', { visibility: 'string' });
export const sharedDequeueFields = fieldsOf<SharedDequeueOptions>('A dequeue', {
  visibility: 'string',
  waitMs: 'number',
});
