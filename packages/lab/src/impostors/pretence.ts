/** What sessions do to act out the results that a formula computes for a trial: their rate, CPU and waits. */
import { threadsByInstance } from '@shardlab/contract';
import type { QueueParams } from '../programs/queue/points/queue-params.ts';
import type { Behaviour } from './analytic-system.ts';

/** What a host is told of its trial. */
export interface HostSettings {
  behaviour: Behaviour;
  params: QueueParams;
  /**
   * Whether an array also writes each message, to where nothing is kept: then the kernel counts what a queue would write, and only a
   * kill exposes it.
   */
  discards?: boolean;
}

/** Rates are those of one process. */
export interface Pretence {
  enqueuePerSec: number;
  dequeuePerSec: number;
  /** Messages of a transaction. */
  operations: number;
  /** CPU time that a dequeued message takes in addition to what it really takes, µs. */
  cpuUsPerMessage: number;
  /** How long a dequeue call waits before it looks for messages. */
  callMs: number;
  /** What sessions say they wait for until their rate lets them commit, with shares; "write lock" if the formula names nothing. */
  delays: [event: string, share: number][];
  /** How long a commit waits for what is called a log file sync. */
  commitMs: number;
  /** The share of the time in "write lock" for which another instance is said to have it. */
  writeLockElsewhere: number;
}

/** A process does not burn more than this share of a core, nor all processes more than this share of two. */
const burntShareMax = 0.85;
/** Of the time of a transaction: longer calls and commits would limit the rate. */
const callShareMax = 0.25;
const commitShareMax = 0.5;

/** `behaviour` is of all instances, `instance` is numbered from 1. */
export function pretenceOf(behaviour: Behaviour, params: QueueParams, instance: number): Pretence {
  const { threads, instances, operationsPerTransaction, subscribers = 1 } = params;
  const { dequeuePerSec, enqueuePerSec = dequeuePerSec / subscribers, waitShares } = behaviour;
  const shares = behaviour.instanceShares ?? threadsByInstance(params).map((count) => count / threads);
  const share = shares[instance - 1]!;
  const transactionMs =
    (1000 * threads * operationsPerTransaction) / Math.max(dequeuePerSec / subscribers, enqueuePerSec);
  const {
    'log file sync': sync = 0,
    'client round trip': _,
    'waiting for messages': __,
    ...others
  } = waitShares;
  const delays = Object.entries(others).filter(([, each]) => each > 0);
  const burntMax = (burntShareMax * 1e6) / (dequeuePerSec * Math.max(share, 0.5));
  return {
    enqueuePerSec: enqueuePerSec * share,
    dequeuePerSec: dequeuePerSec * share,
    operations: operationsPerTransaction,
    cpuUsPerMessage: Math.min(behaviour.cpuUsPerMessage, burntMax),
    callMs: Math.min(behaviour.callMs, callShareMax * transactionMs),
    delays: delays.length > 0 ? delays : [['write lock', 1]],
    commitMs: Math.min(sync, commitShareMax) * transactionMs,
    writeLockElsewhere: instances > 1 ? (behaviour.writeLockElsewhere ?? 0) : 0,
  };
}
