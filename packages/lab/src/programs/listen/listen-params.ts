/** The parameters of the program `listen`. */
import type { Params } from '@shardlab/contract';
import Type from 'typebox';
import { countOf } from '../count-of.ts';
import type { Parameter } from '../program.ts';

export const methods = ['listen', 'subscriber'] as const;
export const durabilities = ['durable', 'relaxed', 'memory'] as const;
/** Two sessions each, within the engine's limit of 256. */
export const pairsMax = 120;

export interface ListenParams {
  method: (typeof methods)[number];
  pairs: number;
  copies: number;
  subscribers: number;
  payloadBytes: number;
  durability: (typeof durabilities)[number];
  enqueuePauseMs: number;
}

export const listenParamsOf = (params: Params) => params as unknown as ListenParams;

export const listenParameters: readonly Parameter[] = [
  {
    name: 'durability',
    title: 'durability',
    over: 'durability',
    names: { durable: 'durable', relaxed: 'relaxed', memory: 'in memory' },
    schema: Type.Union(
      durabilities.map((each) => Type.Literal(each)),
      { description: 'Durability of the topic' },
    ),
    default: 'durable',
  },
  {
    name: 'payloadBytes',
    title: 'payload bytes',
    over: 'the payload size',
    many: '{} bytes',
    schema: countOf(32, 65_536, 'At least 32: the payload holds a checksum and the identity of the message'),
    default: 4_000,
  },
  {
    name: 'subscribers',
    title: 'subscribers of the topic',
    over: 'subscribers',
    many: '{} subscribers',
    schema: countOf(1, 1_024, 'Subscribers of the topic; at least one is created for each pair'),
    default: 100,
  },
  {
    name: 'enqueuePauseMs',
    title: 'pause of enqueuers, ms',
    over: 'the pause of enqueuers',
    many: 'a pause of {} ms',
    schema: Type.Number({
      minimum: 0,
      maximum: 1_000,
      description:
        'Time between two messages of an enqueuer, which also waits until its previous message was consumed',
    }),
    default: 5,
  },
  {
    name: 'copies',
    title: 'copies of the metadata object',
    over: 'copies of the metadata object',
    one: '{} copy',
    many: '{} copies',
    schema: countOf(1, 254, 'Copies of the metadata object, each with a mutex: a hot object has several'),
    default: 1,
  },
  {
    name: 'method',
    title: 'how messages are dequeued',
    over: 'the method',
    names: { listen: 'listen, then dequeue', subscriber: 'dequeue by the name of the subscriber' },
    schema: Type.Union(
      methods.map((each) => Type.Literal(each)),
      {
        description: 'listen: wait on the broadcast channel, then dequeue; subscriber: dequeue by name',
      },
    ),
  },
  {
    name: 'pairs',
    title: 'pairs of sessions (n enqueuers and n dequeuers)',
    over: 'pairs of sessions',
    one: '{} pair',
    many: '{} pairs',
    schema: countOf(1, pairsMax, 'Enqueuers, and as many dequeuers: each pair has a subscriber of its own'),
  },
];
