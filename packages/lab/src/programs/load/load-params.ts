/**
 * The parameters of the programs whose sessions load a system for a time: `closed-loop`, `open-loop`, `standing-backlog`. The last
 * one of each has a value at every point, because it is the axis of charts where nothing is swept.
 */
import type { Combination, Params } from '@shardlab/contract';
import Type from 'typebox';
import type { System } from '../../systems/system.ts';
import { systemOf } from '../../systems/systems.ts';
import { countOf } from '../count-of.ts';
import type { Parameter, TrialLoad } from '../program.ts';

export const schedules = ['at-once', 'enqueue-then-dequeue', 'enqueue'] as const;

export interface LoadParams {
  payloadBytes: number;
  operationsPerTransaction: number;
  /** Undefined: see `sessionsFor`. */
  enqueuers?: number;
  dequeuers?: number;
  /** 0, the default: a queue. */
  subscribers?: number;
}

export interface ClosedLoopParams extends LoadParams {
  schedule: (typeof schedules)[number];
}

export interface OpenLoopParams extends LoadParams {
  /** One of the two. */
  messagesPerSec?: number;
  shareOfMaximum?: number;
  emulatedSyncMs: number;
}

export interface StandingBacklogParams extends LoadParams {
  backlog: number;
}

export const closedLoopParamsOf = (params: Params) => params as unknown as ClosedLoopParams;
export const openLoopParamsOf = (params: Params) => params as unknown as OpenLoopParams;
export const standingBacklogParamsOf = (params: Params) => params as unknown as StandingBacklogParams;

/** Sessions of each kind by transaction size: few for large transactions, many for small ones that wait for a sync. */
export function sessionsFor(operations: number): number {
  if (operations >= 1_000) return 4;
  return operations >= 10 ? 16 : 32;
}

/** A few large transactions load the disk of two instances as well as that of one. */
const wholeFrom = 1_000;

/** Enqueuers and dequeuers over all instances of a system. */
export function sessionsOf(params: LoadParams, { instances }: Pick<System, 'instances'>) {
  const { operationsPerTransaction: operations, enqueuers, dequeuers } = params;
  const times = operations >= wholeFrom ? 1 : instances;
  const usual = sessionsFor(operations);
  return { enqueuers: times * (enqueuers ?? usual), dequeuers: times * (dequeuers ?? usual) };
}

/** An embedded instance is in the process of its sessions; all sessions of a server are in one separate process. */
export function loadOf({ system: id, params }: Combination): Omit<TrialLoad, 'isPaced'> {
  const system = systemOf(id);
  const { enqueuers, dequeuers } = sessionsOf(params as unknown as LoadParams, system);
  const processes = system.server === null ? system.instances : 1 + system.instances;
  return { sessions: enqueuers + dequeuers, processes };
}

const payloadBytes: Parameter = {
  name: 'payloadBytes',
  title: 'payload bytes',
  over: 'the payload size',
  many: '{} bytes',
  schema: countOf(32, 65_536, 'At least 32: the payload holds a checksum and the identity of the message'),
};

const operationsPerTransaction: Parameter = {
  name: 'operationsPerTransaction',
  title: 'operations per transaction',
  over: 'the operations per transaction',
  one: '{} operation per transaction',
  many: '{} operations per transaction',
  schema: countOf(1, 10_000, 'Messages of one commit, or of the calls that stand for it'),
};

const sessionsInWords =
  'for each instance of the system (with 1,000 operations per transaction or more, over all of them); default by operations per transaction: 32, from 10 on 16, from 1,000 on 4';

const sessions: readonly Parameter[] = [
  {
    name: 'enqueuers',
    title: 'enqueuers',
    over: 'enqueuers',
    one: '{} enqueuer',
    many: '{} enqueuers',
    schema: countOf(1, 1_024, `Sessions that enqueue, ${sessionsInWords}`),
    optional: true,
  },
  {
    name: 'dequeuers',
    title: 'dequeuers',
    over: 'dequeuers',
    one: '{} dequeuer',
    many: '{} dequeuers',
    schema: countOf(1, 1_024, `Sessions that dequeue, ${sessionsInWords}`),
    optional: true,
  },
];

const subscribers: Parameter = {
  name: 'subscribers',
  title: 'subscribers',
  over: 'subscribers',
  names: { 0: 'a queue' },
  one: 'a topic with one subscriber',
  many: 'a topic with {} subscribers',
  schema: countOf(
    0,
    32,
    '0, the default: a queue. Otherwise a topic, of which each subscriber consumes every message; dequeuers are spread over them',
  ),
  default: 0,
};

export const closedLoopParameters: readonly Parameter[] = [
  payloadBytes,
  {
    name: 'schedule',
    title: 'schedule',
    over: 'the schedule',
    names: {
      'at-once': 'enqueues and dequeues at once',
      'enqueue-then-dequeue': 'enqueues only, then dequeues only',
      enqueue: 'enqueues only',
    },
    schema: Type.Union(
      schedules.map((each) => Type.Literal(each)),
      {
        description:
          'at-once, the default: both at the same time, with a bounded backlog; enqueue-then-dequeue: one process enqueues, and another dequeues the backlog that it left; enqueue: nothing is dequeued',
      },
    ),
    default: 'at-once',
  },
  subscribers,
  ...sessions,
  operationsPerTransaction,
];

export const openLoopParameters: readonly Parameter[] = [
  payloadBytes,
  {
    name: 'messagesPerSec',
    title: 'messages per second',
    over: 'the offered rate',
    many: '{} messages per second',
    schema: countOf(
      1,
      1_000_000,
      'Rate at which messages are to be sent, whether or not earlier ones have ended',
    ),
    optional: true,
  },
  {
    name: 'shareOfMaximum',
    title: 'share of the maximum rate',
    over: 'the share of the maximum rate',
    many: '{} of the maximum rate',
    schema: Type.Number({
      minimum: 0.01,
      maximum: 1,
      description:
        'The rate as a share of what the same system does in a closed loop, measured by each trial before its open loop, without emulated syncs and with the default numbers of sessions',
    }),
    optional: true,
  },
  {
    name: 'emulatedSyncMs',
    title: 'emulated sync, milliseconds',
    over: 'the emulated sync',
    many: 'emulated sync of {} ms',
    schema: Type.Number({
      minimum: 0,
      maximum: 1_000,
      description:
        'The least time that a sync takes, in milliseconds: our embedded queues only; 0 for that of the disk',
    }),
    default: 0,
  },
  ...sessions,
  operationsPerTransaction,
];

export const standingBacklogParameters: readonly Parameter[] = [
  payloadBytes,
  ...sessions,
  operationsPerTransaction,
  {
    name: 'backlog',
    title: 'messages that stand in the queue',
    over: 'the standing backlog',
    many: 'backlog of {}',
    schema: countOf(
      100,
      20_000_000,
      'Messages that a process enqueues before it is killed, and that stay in the queue while another works',
    ),
  },
];
