/** A queue as it is stored: the configuration of its stream, whose metadata has the specification and what is stopped. */
import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { type AttemptsCounted, QueueError, type QueueSpec } from '@shardlab/engine';
import { assertFields, fieldsOf, queueSettingKinds, validateQueueSpec } from '@shardlab/engine/store-rules';
import { unsupported } from './capabilities.ts';
import { storeLimits } from './store-limits.ts';
import { queueConsumer, shardSubjects, streamOf, subjectsOf } from './stream-names.ts';

export interface JetStreamQueueSpec extends QueueSpec {
  /** Servers that store the queue: 1, 3 or 5. Default: the store's. */
  replicas?: 1 | 3 | 5;
  /**
   * Bytes of the queue at which it refuses messages with `STORAGE_FULL`; default: what the account may store. Such a queue
   * cannot delay messages: for those the servers insist on dropping the oldest instead.
   */
  bytesMax?: number;
}

/** The stored part of the specification. */
export interface StoredSpec {
  name: string;
  type: 'queue' | 'topic';
  shards: number;
  durability: 'durable' | 'relaxed' | 'memory';
  attemptsMax: number | null;
  attemptsCounted: AttemptsCounted;
  retryDelayMs: number;
  /** Null: no bound of its own. */
  bytesMax: number | null;
}

export interface QueueRow extends StoredSpec {
  replicas: number;
  enqueueEnabled: boolean;
  dequeueEnabled: boolean;
}

const formatKey = 'shardlab-format';
const format = '1';
const specKey = 'shardlab-queue';
const stopsKey = 'shardlab-stopped';

const specFields = fieldsOf<JetStreamQueueSpec>(
  'A queue',
  { name: 'any', ...queueSettingKinds, replicas: 'any', bytesMax: 'any' },
  'QUEUE_SPEC_INVALID',
);

/** Throws `QUEUE_SPEC_INVALID`, and `FEATURE_UNSUPPORTED` for what the servers cannot do. */
export function rowOfSpec(
  spec: JetStreamQueueSpec,
  store: { sync: 'always' | 'interval'; replicas: number },
): QueueRow {
  assertFields(spec, specFields);
  const { replicas = store.replicas, bytesMax = null, ...known } = spec;
  if (![1, 3, 5].includes(replicas)) {
    throw new QueueError('QUEUE_SPEC_INVALID', { message: 'replicas is 1, 3 or 5', details: { replicas } });
  }
  if (bytesMax !== null && !(Number.isInteger(bytesMax) && bytesMax > 0)) {
    throw new QueueError('QUEUE_SPEC_INVALID', { message: 'bytesMax is a whole number above 0' });
  }
  const row = validateQueueSpec(known);
  if (row.kind !== 'sharded') {
    throw unsupported(
      'unshardedQueues',
      `A queue on NATS JetStream has shards: its kind is sharded, not ${row.kind}`,
    );
  }
  if (row.priorities) throw unsupported('priorities');
  if ((row.retentionMs ?? 0) > 0) throw unsupported('retention');
  if (row.visibility === 'immediate') throw unsupported('bufferedQueues');
  if (row.correlationIndex) throw unsupported('correlationIndex');
  for (const name of ['forwarding', 'cacheBytesMin', 'cacheBytesMax'] as const) {
    if (!spec[name]) continue;
    throw new QueueError('QUEUE_SPEC_INVALID', {
      message: `${name} is of the local engine: a queue on NATS JetStream has no instances with a message cache`,
      details: { field: name },
    });
  }
  if (spec.durability === 'durable' && store.sync !== 'always') {
    throw unsupported(
      'syncedAcknowledgement',
      'The servers are not known to sync before they acknowledge: open the store with sync "always" once every one of them has sync_interval: always, or create the queue with durability "relaxed"',
    );
  }
  return {
    name: row.name,
    type: row.type,
    shards: row.shards,
    durability: row.durability === 'durable' && store.sync !== 'always' ? 'relaxed' : row.durability,
    attemptsMax: row.attemptsMax,
    attemptsCounted: row.attemptsCounted,
    retryDelayMs: row.retryDelayMs,
    bytesMax,
    replicas,
    enqueueEnabled: true,
    dequeueEnabled: true,
  };
}

export function streamConfigOf(row: QueueRow): Partial<StreamConfig> & { name: string } {
  return {
    name: streamOf(row.name),
    subjects: [subjectsOf(row.name)],
    retention: row.type === 'topic' ? RetentionPolicy.Interest : RetentionPolicy.Workqueue,
    storage: row.durability === 'memory' ? StorageType.Memory : StorageType.File,
    num_replicas: row.replicas,
    // Without a bound of its own nothing is discarded: the account's is a refusal.
    discard: row.bytesMax === null ? DiscardPolicy.Old : DiscardPolicy.New,
    max_bytes: row.bytesMax ?? -1,
    duplicate_window: nanos(storeLimits.dedupWindowMs),
    allow_direct: false,
    allow_atomic: true,
    allow_msg_schedules: canDelay(row),
    metadata: metadataOf(row),
  };
}

/** A queue that was created before there was a choice has no `attemptsCounted`. */
function storedSpec(json: string): StoredSpec {
  return { attemptsCounted: 'on-return', ...(JSON.parse(json) as Partial<StoredSpec>) } as StoredSpec;
}

export function canDelay({ type, bytesMax }: StoredSpec): boolean {
  return type === 'queue' && bytesMax === null;
}

export function metadataOf(row: QueueRow): Record<string, string> {
  const { replicas: _replicas, enqueueEnabled, dequeueEnabled, ...spec } = row;
  const stopped = [...(enqueueEnabled ? [] : ['enqueue']), ...(dequeueEnabled ? [] : ['dequeue'])];
  return { [formatKey]: format, [specKey]: JSON.stringify(spec), [stopsKey]: stopped.join() };
}

/** Whether a stream is one of our queues. */
export function isOurs({ config: { metadata = {} } }: StreamInfo): boolean {
  return metadata[formatKey] === format && metadata[specKey] !== undefined;
}

/** Throws `STREAM_FOREIGN`. */
export function rowOfStream(info: StreamInfo): QueueRow {
  const { name, metadata = {}, num_replicas: replicas } = info.config;
  if (!isOurs(info)) {
    throw new QueueError('STREAM_FOREIGN', {
      message: `The stream ${name} is no queue of ours, or of another format; it was not touched`,
      details: { stream: name },
    });
  }
  const stopped = (metadata[stopsKey] ?? '').split(',');
  return {
    ...storedSpec(metadata[specKey]!),
    replicas,
    enqueueEnabled: !stopped.includes('enqueue'),
    dequeueEnabled: !stopped.includes('dequeue'),
  };
}

/** The consumer of a queue; that of a subscriber has a name and metadata of its own. */
export function consumerConfigOf(queue: string, ackWaitMs: number): Partial<ConsumerConfig> {
  return {
    durable_name: queueConsumer,
    filter_subject: shardSubjects(queue),
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    deliver_policy: DeliverPolicy.All,
    max_deliver: -1,
    max_ack_pending: storeLimits.holdsMax,
    max_waiting: storeLimits.waitingMax,
  };
}
