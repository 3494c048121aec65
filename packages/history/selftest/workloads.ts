/** The workloads of the self-test: a queue of each kind, and how sessions enqueue and consume its messages. */
import type { NewMessage, QueueSpec } from '@shardlab/engine';
import type { MessageRecord } from '../src/index.ts';
import type { Chance } from './chance.ts';

export interface Workload {
  spec: Omit<QueueSpec, 'name'>;
  /** Whether messages of a session are delivered in the order of their commits; default true. */
  ordered?: boolean;
  /** The attributes of a message. */
  vary?(chance: Chance): Partial<NewMessage>;
  /** The part of its session's messages whose order a message must keep; default: all of them. */
  streamOf?(message: Partial<NewMessage>): string;
  subscribers?: string[];
  /** Consumers use timed holds, which do not end with the transaction. */
  timed?: boolean;
  /** Some messages are delayed; one consumer continues until no message is. */
  delayed?: boolean;
  /** Payloads are written and read in chunks. */
  streamed?: boolean;
  /** One of the consumers keeps its messages until the other sessions have ended. */
  slowConsumer?: boolean;
  /** There are two served instances, between which messages are forwarded. */
  forwarded?: boolean;
  cacheBytesMax?: number;
  /** Turns of each session in one process; default 40. */
  turns?: number;
  /** Whether every other process is killed; otherwise each one ends by itself. */
  kills?: boolean;
}

const priorities = 3;
/** In milliseconds. The long ones exceed the time of a commit on a slow disk. */
const delays = [30, 30, 30, 1_200];

export const workloads = {
  plain: { spec: { shards: 2 }, kills: true },
  keyed: {
    spec: { shards: 3 },
    vary: (chance) => ({ groupKey: `k${chance.below(6)}` }),
    streamOf: ({ groupKey = '' }) => groupKey,
    kills: true,
  },
  lanes: {
    spec: { priorities: true },
    vary: (chance) => ({ priority: chance.below(priorities) }),
  },
  topic: {
    spec: { type: 'topic' },
    subscribers: ['east', 'west'],
    vary: (chance) => (chance.below(3) === 0 ? { recipients: [chance.pick(['east', 'west'])] } : {}),
    kills: true,
  },
  delayed: {
    spec: {},
    ordered: false,
    delayed: true,
    vary: (chance) => (chance.below(2) === 0 ? { delayMs: chance.pick(delays) + chance.below(250) } : {}),
    kills: true,
  },
  poison: { spec: { attemptsMax: 2, attemptsCounted: 'on-delivery' }, ordered: false, kills: true },
  timed: { spec: { shards: 2 }, ordered: false, timed: true },
  streamed: { spec: {}, streamed: true, turns: 15 },
  slow: { spec: {}, slowConsumer: true, kills: true },
  backlog: { spec: {}, cacheBytesMax: 4_096, kills: true },
  unsharded: { spec: { kind: 'unsharded' }, kills: true },
  forwarded: { spec: { shards: 2, forwarding: true }, forwarded: true },
} as const satisfies Record<string, Workload>;

export type WorkloadName = keyof typeof workloads;

export function recordOf(
  workload: Workload,
  { session, message, attributes }: { session: string; message: string; attributes: Partial<NewMessage> },
): MessageRecord {
  const { priority, recipients } = attributes;
  const stream = workload.streamOf === undefined ? session : `${session} ${workload.streamOf(attributes)}`;
  return {
    message,
    stream,
    ...(priority !== undefined && { priority }),
    ...(recipients !== undefined && { recipients }),
  };
}
