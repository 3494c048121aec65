/** One repeat of a row: the combined results of its processes. Plain data, stored in the journal. */
import type { Integrity } from '@shardlab/contract';
import { encodeHistogram, mergeHistograms, mergeLedgers } from '@shardlab/lab';
import type { JobResult } from './job.ts';

export type Phase = 'enqueue only' | 'dequeue only' | 'both at once' | 'open loop' | 'standing backlog';

export interface Sample {
  phase: Phase;
  /** Messages a second that an open loop was to send; null in a closed one. */
  intendedPerSec: number | null;
  /** Null where the phase has none. */
  enqueuePerSec: number | null;
  dequeuePerSec: number | null;
  /** Client and server together; null where the system does not tell. */
  cpuUsPerMessage: number | null;
  /** Encoded histograms. */
  latency: string;
  scheduleLag: string;
  eventLoopDelay: string;
  integrity: Integrity;
  stated: string;
  /** From the begin of opening until the slowest process served. */
  openMs: number;
  residentBytesMax: number;
  /** Messages that stood in the queue when the phase began. */
  backlog: number;
}

export interface TrialStepResults {
  phase: Phase;
  results: readonly JobResult[];
  /** Results of all acts of the trial up to this one, for the ledger. */
  history: readonly JobResult[];
  backlog: number;
  intendedPerSec: number | null;
}

export function sampleOf({ phase, results, history, backlog, intendedPerSec }: TrialStepResults): Sample {
  const enqueues = phase !== 'dequeue only';
  const dequeues = phase !== 'enqueue only';
  const rate = (count: (window: JobResult['window']) => number) =>
    sum(results.map(({ window }) => (window.ms > 0 ? (count(window) / window.ms) * 1_000 : 0)));
  const messages = sum(results.map(({ window }) => (dequeues ? window.consumed : window.enqueued)));
  const cpuUs = results.map(({ window }) => window.cpuUs);
  return {
    phase,
    intendedPerSec,
    enqueuePerSec: enqueues ? rate((window) => window.enqueued) : null,
    dequeuePerSec: dequeues ? rate((window) => window.consumed) : null,
    cpuUsPerMessage:
      cpuUs.includes(null) || messages === 0 ? null : sum(cpuUs as readonly number[]) / messages,
    latency: merged(results.map((result) => result.latency)),
    scheduleLag: merged(results.map((result) => result.scheduleLag)),
    eventLoopDelay: merged(results.map((result) => result.eventLoopDelay)),
    integrity: integrityOf(history, results),
    stated: results[0]!.stated,
    openMs: Math.max(...results.map(({ openMs }) => openMs)),
    residentBytesMax: Math.max(...results.map(({ residentBytesMax }) => residentBytesMax)),
    backlog,
  };
}

/**
 * The integrity of a trial per subscriber. Remaining messages are counted by the system, not read: if fewer are counted
 * than were not consumed, messages are lost; if more are counted, consumed messages are still in the queue.
 */
export function integrityOf(
  history: readonly SubscriberReports[],
  last: readonly SubscriberReports[],
): Integrity {
  const subscribers = last[0]!.subscriberReports.map((_, subscriber) => {
    const ledgers = history.map(({ subscriberReports }) => subscriberReports[subscriber]!.ledger);
    const depth = sum(last.map(({ subscriberReports }) => subscriberReports[subscriber]!.depth));
    const { lost: missing, duplicated, ...rest } = mergeLedgers(ledgers);
    return {
      ...rest,
      lost: Math.max(0, missing - depth),
      duplicated: duplicated + Math.max(0, depth - missing),
      left: depth,
    };
  });
  return subscribers.reduce(addIntegrity);
}

type SubscriberReports = Pick<JobResult, 'subscriberReports'>;

export function addIntegrity(a: Integrity, b: Integrity): Integrity {
  return {
    lost: a.lost + b.lost,
    duplicated: a.duplicated + b.duplicated,
    damaged: a.damaged + b.damaged,
    outOfOrder: a.outOfOrder + b.outOfOrder,
    left: a.left + b.left,
  };
}

const merged = (encoded: readonly string[]) => encodeHistogram(mergeHistograms(encoded));
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
