/** The parameters of the programs `queue` and `topic`: sessions that enqueue and sessions that dequeue as fast as they can. */
import {
  DequeuerPlace,
  Durability,
  type Params,
  Rows,
  SessionPlace,
  SessionPlacement,
  scenarioLimits,
} from '@shardlab/contract';
import Type from 'typebox';
import { countOf } from '../../count-of.ts';
import type { Parameter } from '../../program.ts';

const limit = scenarioLimits;

/** Parameters of a point of a validated scenario. */
export interface QueueParams {
  instances: number;
  /** Enqueuer sessions over all instances, and as many dequeuer sessions; of a topic, per subscriber. */
  threads: number;
  roundTripMs: number;
  payloadBytes: number;
  operationsPerTransaction: number;
  backlogMax: number;
  shardsPerInstance: number;
  durability: Durability;
  sessions: SessionPlace;
  /** Messages in the queue before the warm-up. */
  backlog: number;
  rows: Rows;
  dequeuers: DequeuerPlace;
  /** Undefined: even. */
  placement?: SessionPlacement;
  /** Undefined: the engine's default. */
  cacheMiB?: number;
  /** Only for a topic. */
  subscribers?: number;
}

export const queueParamsOf = (params: Params): QueueParams => params as unknown as QueueParams;

const subscribers: Parameter = {
  name: 'subscribers',
  title: 'subscribers of the topic',
  over: 'subscribers',
  one: '{} subscriber',
  many: '{} subscribers',
  schema: countOf(
    1,
    limit.subscribersMax,
    'Subscribers of the topic; of the systems unsharded and unsharded-grouped: queues that each message is enqueued to. There are as many dequeuers per subscriber as enqueuers',
  ),
};

export const queueParameters: readonly Parameter[] = [
  {
    name: 'roundTripMs',
    title: 'emulated round trip, milliseconds',
    over: 'the round trip',
    many: '{} ms round trip',
    schema: Type.Number({
      minimum: 0,
      maximum: limit.roundTripMsMax,
      description: 'Emulated client round trip of every call, in milliseconds; 0 for none',
    }),
    default: 0,
  },
  {
    name: 'sessions',
    title: 'place of the sessions',
    over: 'the place of the sessions',
    names: { embedded: 'embedded sessions', remote: 'remote sessions' },
    schema: SessionPlace,
    default: 'embedded',
  },
  {
    name: 'shardsPerInstance',
    title: 'shards per instance',
    over: 'the shards per instance',
    one: '{} shard per instance',
    many: '{} shards per instance',
    schema: countOf(1, 16, 'Shards of a sharded queue on each instance'),
    default: 1,
  },
  {
    name: 'cacheMiB',
    title: 'message cache, MiB',
    over: 'the size of the message cache',
    many: 'cache of {} MiB',
    schema: countOf(1, limit.cacheMiBMax, "Message cache of each instance; default: the engine's"),
    optional: true,
  },
  {
    name: 'rows',
    title: 'application rows',
    over: 'application rows',
    names: {
      none: 'no rows',
      together: 'rows in the same transaction',
      separate: 'rows in a separate transaction',
    },
    schema: Rows,
    default: 'none',
  },
  {
    name: 'durability',
    title: 'durability',
    over: 'the durability',
    names: { durable: 'durable', relaxed: 'relaxed', memory: 'nonpersistent' },
    schema: Durability,
  },
  {
    name: 'payloadBytes',
    title: 'payload bytes',
    over: 'the payload size',
    many: '{} bytes',
    schema: countOf(
      32,
      limit.payloadBytesMax,
      'At least 32, because the payload holds a checksum and the identity of the message. Payloads above 1 MiB are streamed in chunks: sharded queues and embedded sessions only',
    ),
  },
  {
    name: 'operationsPerTransaction',
    title: 'operations per transaction',
    over: 'the operations per transaction',
    one: '{} operation per transaction',
    many: '{} operations per transaction',
    schema: countOf(1, limit.operationsPerTransactionMax, 'Messages of one commit'),
  },
  {
    name: 'backlog',
    title: 'messages in the queue before the warm-up',
    over: 'the backlog',
    many: 'backlog of {}',
    schema: countOf(
      0,
      limit.backlogMax,
      'Messages in the queue before the warm-up, over all instances; 0 for none',
    ),
    default: 0,
  },
  {
    name: 'backlogMax',
    title: 'limit of the backlog',
    over: 'the limit of the backlog',
    many: 'backlog limit of {}',
    schema: countOf(
      1,
      10_000_000,
      'Enqueuers of an instance pause while its backlog exceeds this many messages (not counting the initial backlog), so that slow dequeuers cannot make it grow without bound',
    ),
  },
  {
    name: 'dequeuers',
    title: 'place of the dequeuers',
    over: 'the place of the dequeuers',
    names: {
      'same-instance': 'dequeuers on the same instance',
      'other-instance': 'dequeuers on another instance',
    },
    schema: DequeuerPlace,
    default: 'same-instance',
  },
  {
    name: 'placement',
    title: 'placement of the threads over instances',
    over: 'the placement of the threads',
    names: { even: 'threads placed evenly', skewed: 'most threads on the first instance' },
    schema: SessionPlacement,
    optional: true,
  },
  {
    name: 'instances',
    title: 'instances',
    over: 'instances',
    one: '{} instance',
    many: '{} instances',
    schema: countOf(1, limit.instancesMax, 'Instances (processes), N'),
  },
  {
    name: 'threads',
    title: 'threads (n enqueuers and n dequeuers)',
    over: 'threads',
    one: '{} thread',
    many: '{} threads',
    schema: countOf(
      1,
      limit.threadsMax,
      'Enqueuer sessions over all instances, and as many dequeuer sessions, T',
    ),
  },
];

/** Subscribers are swept outside of instances and threads. */
export const topicParameters: readonly Parameter[] = queueParameters.flatMap((parameter) =>
  parameter.name === 'dequeuers' ? [subscribers, parameter] : [parameter],
);
