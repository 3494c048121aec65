/** The parameters of the program `pipelining`. */
import type { Params, SystemInfo } from '@shardlab/contract';
import Type from 'typebox';
import { countOf } from '../count-of.ts';
import type { Parameter } from '../program.ts';

/** Each configuration adds one thing to the previous one. */
export const configurations = ['base', 'quotas', 'one-way', 'prefetch'] as const;
export type Configuration = (typeof configurations)[number];

export interface PipeliningParams {
  configuration: Configuration;
  producers: number;
  /** Sends a second of each producer; 0: as many as it can. */
  sendsPerSec: number;
  subscribers: number;
  payloadBytes: number;
  quotaMessages: number;
  windowMessages: number;
  messagesMaximum: number;
}

export const pipeliningParamsOf = (params: Params) => params as unknown as PipeliningParams;

export const remoteTopic: SystemInfo = {
  id: 'remote-topic',
  title: 'Topic over a socket',
  about:
    'A nonpersistent topic, whose producers and consumers are sessions over sockets, on threads of their own',
};

export const pipeliningParameters: readonly Parameter[] = [
  {
    name: 'quotaMessages',
    title: 'quota, messages',
    over: 'the quota',
    many: 'a quota of {} messages',
    schema: countOf(
      1,
      1_000_000,
      'Undelivered messages past which a send waits; not in the base configuration',
    ),
    default: 2_000,
  },
  {
    name: 'windowMessages',
    title: 'window of one-way sends, messages',
    over: 'the window',
    many: 'a window of {} messages',
    schema: countOf(1, 10_000, 'One-way sends of a producer without an answer'),
    default: 300,
  },
  {
    name: 'messagesMaximum',
    title: 'messages in a pipeline',
    over: 'the pipeline',
    many: '{} messages in a pipeline',
    schema: countOf(1, 10_000, 'Messages that are pushed to a consumer ahead of its calls, with prefetch'),
    default: 300,
  },
  {
    name: 'payloadBytes',
    title: 'payload bytes',
    over: 'the payload size',
    many: '{} bytes',
    schema: countOf(
      32,
      1_048_576,
      'At least 32: the payload holds a checksum and the identity of the message',
    ),
    default: 1_024,
  },
  {
    name: 'sendsPerSec',
    title: 'sends a second of each producer',
    over: 'the sends of each producer',
    many: '{} sends a second of each producer',
    schema: countOf(0, 100_000, 'Sends a second of each producer; 0, the default: as many as it can'),
    default: 0,
  },
  {
    name: 'subscribers',
    title: 'subscribers of the topic',
    over: 'subscribers',
    one: '{} subscriber',
    many: '{} subscribers',
    schema: countOf(1, 8, 'Subscribers of the topic, each with one consumer on a thread of its own'),
    default: 1,
  },
  {
    name: 'configuration',
    title: 'configuration',
    over: 'the configuration',
    names: {
      base: 'base',
      quotas: 'quotas',
      'one-way': 'quotas, one-way sends',
      prefetch: 'quotas, one-way sends, prefetch',
    },
    schema: Type.Union(
      configurations.map((each) => Type.Literal(each)),
      { description: 'Each adds to the one before: quotas with blocking sends, one-way sends, prefetch' },
    ),
  },
  {
    name: 'producers',
    title: 'producers',
    over: 'producers',
    one: '{} producer',
    many: '{} producers',
    schema: countOf(1, 64, 'Producers, each a session over a connection of its own'),
  },
];
