/** What the self-test's sessions do: a queue of each kind, and how its messages are enqueued and consumed. */
import type { NewMessage, QueueSpec } from '@shardlab/engine';
import type { MessageRecord } from '../src/index.ts';
import type { Chance } from './chance.ts';

export interface Workload {
  spec: Omit<QueueSpec, 'name'>;
  /** Whether messages of a session are delivered in the order of their commits; default true. */
  ordered?: boolean;
  /** The attributes of a message. */
  vary?(chance: Chance): Partial<NewMessage>;
  /** The stream of a message within those of its session. */
  streamOf?(message: Partial<NewMessage>): string;
  subscribers?: string[];
  /** Timed holds instead of those of a transaction. */
  timed?: boolean;
  /** Messages are delayed; consumers stay until none is. */
  delayed?: boolean;
  /** Payloads in chunks. */
  streamed?: boolean;
  /** One of the consumers keeps messages until the others have ended. */
  slowConsumer?: boolean;
  /** Two served instances, between which messages are forwarded. */
  forwarded?: boolean;
  cacheBytesMax?: number;
  /** Turns of each session in one process; default 40. */
  turns?: number;
  /** Whether processes are killed; otherwise one process runs once and again. */
  kills?: boolean;
}

const priorities = 3;
/** Milliseconds; the long ones exceed what a commit takes on a slow disk. */
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
  poison: { spec: { attemptsMax: 2 }, ordered: false, kills: true },
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
