/** The parameters of the program `xa`. The last five are the emulated hardware. */
import type { Params } from '@shardlab/contract';
import Type from 'typebox';
import { countOf } from '../count-of.ts';
import type { Parameter } from '../program.ts';

export const transactions = ['local', 'one-branch', 'two-branches'] as const;
export const works = ['enqueue', 'insert', 'dequeue'] as const;
export const couplings = ['loose', 'tight', 'tight-branches'] as const;
export const places = ['own', 'other'] as const;
export const redos = ['shared', 'own'] as const;
export const spreads = ['equal', 'scattered'] as const;

export interface XaParams {
  transaction: (typeof transactions)[number];
  instances: number;
  /** A transaction with two branches has two sessions. */
  sessions: number;
  messagesPerSession: number;
  work: (typeof works)[number];
  coupling: (typeof couplings)[number];
  preparedBy: (typeof places)[number];
  payloadBytes: number;
  roundTripMs: number;
  syncMs: number;
  syncTimes: (typeof spreads)[number];
  redo: (typeof redos)[number];
  interconnectMs: number;
}

export const xaParamsOf = (params: Params) => params as unknown as XaParams;

export const isEmulatedHardware = ({ roundTripMs, syncMs, interconnectMs }: XaParams): boolean =>
  roundTripMs > 0 || syncMs > 0 || interconnectMs > 0;

const oneOf = (values: readonly string[], description: string) =>
  Type.Union(
    values.map((each) => Type.Literal(each)),
    { description },
  );

const milliseconds = (name: string, words: { title: string; description: string }): Parameter => ({
  name,
  title: `${words.title}, milliseconds`,
  over: `the ${words.title}`,
  many: `${words.title} of {} ms`,
  schema: Type.Number({ minimum: 0, maximum: 1_000, description: words.description }),
  default: 0,
});

export const xaParameters: readonly Parameter[] = [
  {
    name: 'payloadBytes',
    title: 'payload bytes',
    over: 'the payload size',
    many: '{} bytes',
    schema: countOf(32, 65_536, 'At least 32: the payload holds a checksum and the identity of the message'),
    default: 100,
  },
  {
    name: 'messagesPerSession',
    title: 'messages of a session',
    over: 'the messages of a session',
    many: '{} messages a session',
    schema: countOf(1, 100_000, 'Messages that each session enqueues or dequeues, one in a transaction'),
    default: 1_000,
  },
  {
    name: 'work',
    title: 'work of a branch',
    over: 'the work of a branch',
    names: {
      enqueue: 'enqueue a message',
      insert: 'insert a row and enqueue a message',
      dequeue: 'dequeue a message that is there',
    },
    schema: oneOf(
      works,
      'What a branch, or a local transaction, does. insert: a row and a message; on two instances the rows are at the home instance of tightly coupled branches, else each instance has a folder and tables of its own',
    ),
    default: 'enqueue',
  },
  {
    name: 'coupling',
    title: 'coupling of the branches',
    over: 'the coupling of the branches',
    names: {
      loose: 'loosely coupled',
      tight: 'tightly coupled, a lock for each call',
      'tight-branches': 'tightly coupled, a lock from start to end',
    },
    schema: oneOf(
      couplings,
      'loose: each branch is on its own; tight: only one branch of a transaction has a call under way at a time, and what a branch on another instance enqueues is shipped to the home instance, which is that of the first branch; tight-branches: only one is between its start and its end',
    ),
    default: 'loose',
  },
  {
    name: 'preparedBy',
    title: 'who prepares a branch',
    over: 'who prepares a branch',
    names: { own: 'prepared by its own session', other: 'prepared by the other session' },
    schema: oneOf(
      places,
      'own: the session that did its work; other: the session of the other branch, whose instance passes the prepare on, and the commit; where each instance has a folder of its own, over a connection to the instance of the branch',
    ),
    default: 'own',
  },
  {
    name: 'redo',
    title: 'redo device',
    over: 'the redo device',
    names: { shared: 'one redo device', own: 'a redo device for each instance' },
    schema: oneOf(
      redos,
      'Whether the emulated device is one for all instances, which serves one sync at a time',
    ),
    default: 'shared',
  },
  {
    name: 'syncTimes',
    title: 'times of emulated syncs',
    over: 'the times of emulated syncs',
    names: { equal: 'equal sync times', scattered: 'scattered sync times' },
    schema: oneOf(
      spreads,
      'equal: each emulated sync takes syncMs, or what the disk takes if that is longer; scattered: as an exponential distribution with this mean, cut at 3.7 times the mean',
    ),
    default: 'equal',
  },
  milliseconds('interconnectMs', {
    title: 'emulated interconnect latency',
    description: 'Added to each request of one instance to another; 0 for none',
  }),
  milliseconds('roundTripMs', {
    title: 'emulated client round trip',
    description: 'Added before each call of a session; 0 for none',
  }),
  milliseconds('syncMs', {
    title: 'emulated sync',
    description: 'Mean time that a sync of the redo takes at least; 0 for that of the disk',
  }),
  {
    name: 'transaction',
    title: 'transaction',
    over: 'the kind of transaction',
    names: {
      local: 'local transaction',
      'one-branch': 'XA, one branch in one phase',
      'two-branches': 'XA, two branches in two phases',
    },
    schema: oneOf(
      transactions,
      'local: work and commit; one-branch: start, work, end, commit in one phase; two-branches: the same with two sessions that work together, in two phases',
    ),
  },
  {
    name: 'instances',
    title: 'instances',
    over: 'instances',
    one: '{} instance',
    many: '{} instances',
    schema: countOf(1, 2, 'Instances, over which the sessions are spread'),
  },
  {
    name: 'sessions',
    title: 'sessions',
    over: 'sessions',
    one: '{} session',
    many: '{} sessions',
    schema: countOf(1, 64, 'Sessions; of transactions with two branches an even number'),
  },
];

/** Midpoints of as many equal parts of the distribution, each drawn as often as the others. */
const quantiles = 20;
/** Coprime to them, so that long and short times alternate. */
const step = 7;

/** Milliseconds that syncs take in turn. */
export function syncTimesOf({ syncMs, syncTimes }: Pick<XaParams, 'syncMs' | 'syncTimes'>): number[] {
  if (syncTimes === 'equal' || syncMs === 0) return [syncMs];
  const shape = Array.from({ length: quantiles }, (_, index) => -Math.log(1 - (index + 0.5) / quantiles));
  const mean = shape.reduce((sum, value) => sum + value, 0) / quantiles;
  return shape.map((_, index) => (shape[(index * step) % quantiles]! / mean) * syncMs);
}
