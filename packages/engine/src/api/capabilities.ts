/** The capabilities of a store behind the session API, feature by feature. A test keeps `docs/distributed.md` equal to this. */

export const storeFeatures = {
  machineFailure: 'The queue stays available when a machine fails',
  enqueueOnce: 'A commit is stored once, whatever is lost on the way',
  syncedAcknowledgement: 'An acknowledged commit survives a power cut',
  enqueueTogether: 'The messages that a transaction enqueues to one queue: all or none',
  enqueueToSeveralQueues: 'The messages that a transaction enqueues to several queues: all or none',
  consumeTogether: 'The messages that a transaction consumes: all or none',
  consumeAndEnqueue: 'What a transaction consumes and what it enqueues: all or none',
  sqlRows: "Rows of the application's tables in the same commit",
  unshardedQueues: 'Queues without shards',
  orderInShard: 'First deliveries of a shard in the order of their commits',
  orderAfterRedelivery: 'A message that is returned comes before later ones of its shard',
  oneHolder: 'A message has one holder at a time, and a late commit is refused',
  holdsOutliveProcess: 'A timed hold lasts when the process that received the message ends',
  receiptsElsewhere: 'Another process can acknowledge, extend or release by the receipt',
  deliveryCount: 'deliveryCount is the number of deliveries that a consumer may have seen',
  attempts: 'Retry limit, retry delay and exception queue',
  delay: 'Delayed messages of a queue',
  delayOnTopics: 'Delayed messages of a topic',
  priorities: 'Priorities',
  topics: 'Topics with durable and nondurable subscribers, and messages for some of them',
  temporarySubscribers: 'Recipients that become temporary subscribers',
  browse: 'Browse, and search by correlation id',
  correlationIndex: 'An index of correlation ids',
  browseTopics: 'Browse what one subscriber has before it',
  startStop: 'Start and stop for enqueue and dequeue',
  retention: 'Consumed messages that are kept for a time',
  bufferedQueues: 'Queues with immediate visibility, and flow control',
  pipelines: 'Consumers with a pipeline, and producers with one-way sends',
  streamedPayloads: 'Payloads of up to 1 GiB, streamed',
  idempotencyKeys: 'Idempotency keys',
  distributedTransactions: 'Branches of distributed transactions',
} as const;

export type StoreFeature = keyof typeof storeFeatures;

/**
 * `weaker`: it works, but promises less than the feature's description; `note` explains. `no`: refused with
 * `FEATURE_UNSUPPORTED`.
 */
export interface Capability {
  support: 'yes' | 'weaker' | 'no';
  note?: string;
}

export type StoreCapabilities = Readonly<Record<StoreFeature, Capability>>;

const yes: Capability = { support: 'yes' };

/** The engine of this package: one folder on one machine. */
export const localCapabilities: StoreCapabilities = {
  machineFailure: {
    support: 'no',
    note: 'One folder on one machine; another process of the machine takes over',
  },
  enqueueOnce: yes,
  syncedAcknowledgement: { support: 'yes', note: 'With durability `durable`' },
  enqueueTogether: yes,
  enqueueToSeveralQueues: yes,
  consumeTogether: yes,
  consumeAndEnqueue: yes,
  sqlRows: yes,
  unshardedQueues: yes,
  orderInShard: yes,
  orderAfterRedelivery: yes,
  oneHolder: yes,
  holdsOutliveProcess: { support: 'weaker', note: 'They end with the process that serves the instance' },
  receiptsElsewhere: yes,
  deliveryCount: yes,
  attempts: yes,
  delay: yes,
  delayOnTopics: yes,
  priorities: yes,
  topics: yes,
  temporarySubscribers: { support: 'yes', note: 'Unsharded topics' },
  browse: yes,
  correlationIndex: yes,
  browseTopics: yes,
  startStop: yes,
  retention: yes,
  bufferedQueues: yes,
  pipelines: { support: 'yes', note: 'Sessions of a client' },
  streamedPayloads: yes,
  idempotencyKeys: yes,
  distributedTransactions: yes,
};
