/** The parameters of the programs `run-to-completion` and `flow-control`. */
import type { Params } from '@shardlab/contract';
import Type from 'typebox';
import { countOf } from '../count-of.ts';
import type { Parameter } from '../program.ts';

export const schedules = ['enqueue-then-dequeue', 'at-once'] as const;

export interface CompletionParams {
  payloadBytes: number;
  schedule: (typeof schedules)[number];
  queues: number;
  /** Enqueuers, and as many dequeuers. */
  threads: number;
  messages: number;
}

export interface FlowControlParams {
  payloadBytes: number;
  messagesMax: number;
  messages: number;
}

export const completionParamsOf = (params: Params) => params as unknown as CompletionParams;
export const flowControlParamsOf = (params: Params) => params as unknown as FlowControlParams;

const payloadBytes: Parameter = {
  name: 'payloadBytes',
  title: 'payload bytes',
  over: 'the payload size',
  many: '{} bytes',
  schema: countOf(32, 65_536, 'At least 32: the payload holds a checksum and the identity of the message'),
};

const messages: Parameter = {
  name: 'messages',
  title: 'messages',
  over: 'the number of messages',
  one: '{} message',
  many: '{} messages',
  schema: countOf(1, 200_000, 'Messages that are enqueued and dequeued, one a call, by all threads together'),
};

export const completionParameters: readonly Parameter[] = [
  payloadBytes,
  {
    name: 'schedule',
    title: 'schedule',
    over: 'the schedule',
    names: {
      'enqueue-then-dequeue': 'all enqueues before the first dequeue',
      'at-once': 'enqueues and dequeues at once',
    },
    schema: Type.Union(
      schedules.map((each) => Type.Literal(each)),
      {
        description:
          'enqueue-then-dequeue, the default: the first dequeue comes after the last enqueue; at-once: both at the same time',
      },
    ),
    default: 'enqueue-then-dequeue',
  },
  {
    name: 'queues',
    title: 'queues',
    over: 'queues',
    one: '{} queue',
    many: '{} queues',
    schema: countOf(1, 64, 'Queues, to which threads are dealt out in turn'),
    default: 1,
  },
  {
    name: 'threads',
    title: 'threads (n enqueuers and n dequeuers)',
    over: 'threads',
    one: '{} thread',
    many: '{} threads',
    schema: countOf(1, 64, 'Sessions that enqueue, and as many that dequeue, in one client process'),
    default: 1,
  },
  messages,
];

export const flowControlParameters: readonly Parameter[] = [
  payloadBytes,
  {
    name: 'messagesMax',
    title: 'threshold of the flow control',
    over: 'the threshold',
    many: 'threshold of {}',
    schema: countOf(1, 200_000, 'Undelivered messages past which a buffered queue refuses an enqueue'),
    default: 5_000,
  },
  { ...messages, schema: countOf(1, 200_000, 'Messages that are offered before any is dequeued') },
];
