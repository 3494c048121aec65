/** The capabilities of this store: see `storeFeatures`. A feature with `no` is refused when it is used. */
import {
  type Capability,
  type NatsStoreOptions,
  QueueError,
  type StoreCapabilities,
  type StoreFeature,
  storeFeatures,
} from '@shardlab/engine';

const no: Capability = { support: 'no' };
const weaker = (note: string): Capability => ({ support: 'weaker', note });

/** The most that this store can promise: with `sync: "always"` and `transactions: "enqueue-first"`. */
export const jetStreamCapabilities: StoreCapabilities = {
  machineFailure: { support: 'yes', note: 'With 3 or 5 replicas, while most of the servers are there' },
  enqueueOnce: {
    support: 'yes',
    note: 'By message ids, within `outcomeMs`; after that `COMMIT_OUTCOME_UNKNOWN`',
  },
  syncedAcknowledgement: weaker(
    'Only if every server has `sync_interval: always`; without it a power cut loses up to the last two minutes, of all machines or of one while another is cut off',
  ),
  enqueueTogether: { support: 'yes', note: 'Up to 1,000 messages in one atomic batch' },
  enqueueToSeveralQueues: no,
  consumeTogether: weaker('Each message by itself: a failed commit names those that are consumed'),
  consumeAndEnqueue: weaker(
    'Refused, unless the store is opened with `transactions: "enqueue-first"`: a failure in between delivers the consumed message again, after what it led to was enqueued',
  ),
  sqlRows: no,
  unshardedQueues: no,
  orderInShard: {
    support: 'yes',
    note: 'Each process that consumes gets a part; a prefetched message that is given back counts as delivered',
  },
  orderAfterRedelivery: weaker(
    'A returned message is delivered again as soon as possible, in no fixed order',
  ),
  oneHolder: weaker(
    'While the servers have one leader, by time: their clocks may differ by a fifteenth of `ackWaitMs`. A new leader may deliver a held message again; of both holders at most one commit is confirmed, others are `COMMIT_OUTCOME_UNKNOWN`. With one replica in a cluster both may be, if its server is killed within some 100 ms after the delivery and the holder is connected to another server',
  ),
  holdsOutliveProcess: weaker('It ends `ackWaitMs` after the process at the latest'),
  receiptsElsewhere: weaker('Sessions of the same open store only'),
  deliveryCount: weaker('An upper bound: prefetched messages and those of a lost connection count'),
  attempts: weaker(
    'As `deliveryCount`: the servers count each delivery, so a message may move to the exception queue earlier, never later. The error and the times of its attempts are those that the moving process has seen. A move that was cut off for two minutes is made twice',
  ),
  delay: { support: 'yes', note: "By the servers' wall clock" },
  delayOnTopics: no,
  priorities: no,
  topics: { support: 'yes', note: 'A nondurable subscriber also ends after an hour without a dequeue' },
  temporarySubscribers: no,
  browse: weaker(
    'One request for each message; only messages held by this store show as held, and deliveryCount is 0',
  ),
  correlationIndex: no,
  browseTopics: no,
  startStop: weaker('Other processes notice within a second'),
  retention: no,
  bufferedQueues: no,
  pipelines: no,
  streamedPayloads: no,
  idempotencyKeys: no,
  distributedTransactions: no,
};

/** The capabilities of a store that was opened with these options. */
export function capabilitiesOf({
  sync = 'interval',
  transactions = 'atomic',
}: Pick<NatsStoreOptions, 'sync' | 'transactions'>): StoreCapabilities {
  return {
    ...jetStreamCapabilities,
    ...(sync === 'interval' && {
      syncedAcknowledgement: {
        support: 'no',
        note: 'The store was opened without `sync: "always"`, which is for servers that all have `sync_interval: always`',
      },
    }),
    ...(transactions === 'atomic' && {
      consumeAndEnqueue: {
        support: 'no',
        note: 'The store was opened without `transactions: "enqueue-first"`',
      },
    }),
  };
}

/** The refusal of what this store cannot do, before anything is done. */
export function unsupported(feature: StoreFeature, sentence?: string): QueueError {
  return new QueueError('FEATURE_UNSUPPORTED', {
    message: sentence ?? `NATS JetStream cannot do that: ${storeFeatures[feature]}`,
    details: { feature, store: 'jetstream' },
  });
}
