/** The figures of the program `xa`. */
import type { FigureInfo } from '@shardlab/contract';
import { logFileSync } from '@shardlab/engine';
import { accountedShare } from '../../meters/session-times.ts';
import { count, microseconds, milliseconds, rate, ratio } from '../figure-info.ts';
import type { XaResult } from './xa-job.ts';
import type { XaParams } from './xa-params.ts';

/** Stands for the document's DFS lock handle. */
const lockEvent = 'global transaction lock';

const perTransaction = (name: string, title: string, label: string) =>
  count(name, `${title} of a transaction`, { label, unit: 'per transaction' });

export const xaFigures: readonly FigureInfo[] = [
  rate('messagesPerSec', 'Rate of messages', { label: 'Message rate', unit: 'messages per second' }),
  rate('transactionsPerSec', 'Rate of transactions', {
    label: 'Transaction rate',
    unit: 'transactions per second',
  }),
  milliseconds('elapsedMs', 'Elapsed time of the run', { label: 'Elapsed' }),
  milliseconds('elapsedMsPerTransaction', 'Elapsed time of a transaction', {
    label: 'Elapsed a transaction',
    unit: 'milliseconds per transaction',
  }),
  milliseconds('elapsedMsPerMessage', 'Elapsed time of the run for each message', {
    label: 'Elapsed a message',
    unit: 'milliseconds per message',
  }),
  perTransaction('callsPerTransaction', 'Calls of the client', 'Calls'),
  perTransaction('roundTripsPerTransaction', 'Requests that leave the client', 'Round trips'),
  perTransaction('readOnlyPerTransaction', 'Prepares that are answered with read-only', 'Read-only answers'),
  perTransaction('syncsPerTransaction', 'Waits for a log file sync', 'Log file syncs'),
  milliseconds('syncMsPerWait', 'Mean wait for a log file sync', { label: 'A log file sync' }),
  perTransaction('lockWaitsPerTransaction', 'Waits for the lock of the global transaction', 'Lock waits'),
  milliseconds('lockMsPerTransaction', 'Time in waits for the lock of the global transaction', {
    label: 'Lock time',
    unit: 'milliseconds per transaction',
  }),
  ratio('activeTogetherShare', 'Transactions in which both branches were active at the same time', {
    label: 'Active together',
    unit: 'share of the transactions',
  }),
  microseconds('cpuUsPerTransaction', 'CPU of the instances for each transaction', {
    label: 'CPU',
    unit: 'microseconds per transaction',
  }),
  microseconds('clientCpuUsPerTransaction', 'CPU of the client for each transaction', {
    label: 'Client CPU',
    unit: 'microseconds per transaction',
  }),
  ratio('timeAccounted', "Share of the sessions' time that CPU, waits, idle and runnable explain", {
    label: 'Time accounted',
    unit: 'share',
  }),
  count('inDoubt', 'Branches in doubt at the end', { label: 'In doubt', unit: 'branches' }),
  perTransaction('preparesPassedOn', 'Prepares that one instance passes on to another', 'Prepares passed on'),
];

/** Computes the figures, without those that could not be measured. */
export function figuresOf(
  { elapsedMs, counts, ...result }: XaResult,
  params: XaParams,
  place: 'embedded' | 'remote',
): Record<string, number> {
  const { transactions } = counts;
  const messages = params.sessions * params.messagesPerSession;
  const each = (value: number) => value / transactions;
  const waitsOf = (event: string) => result.waits.find((stats) => stats.event === event);
  const sync = waitsOf(logFileSync.name);
  const lock = waitsOf(lockEvent);
  const isTight = params.coupling !== 'loose';
  return {
    messagesPerSec: (1_000 * messages) / elapsedMs,
    transactionsPerSec: (1_000 * transactions) / elapsedMs,
    elapsedMs,
    elapsedMsPerTransaction: each(elapsedMs),
    elapsedMsPerMessage: elapsedMs / messages,
    callsPerTransaction: each(counts.calls),
    ...(counts.roundTrips === null ? {} : { roundTripsPerTransaction: each(counts.roundTrips) }),
    readOnlyPerTransaction: each(counts.readOnlyVotes),
    ...(sync === undefined || sync.waits === 0
      ? {}
      : { syncsPerTransaction: each(sync.waits), syncMsPerWait: sync.totalMs / sync.waits }),
    ...(isTight && lock !== undefined
      ? { lockWaitsPerTransaction: each(lock.waits), lockMsPerTransaction: each(lock.totalMs) }
      : {}),
    ...(params.transaction === 'two-branches' ? { activeTogetherShare: each(counts.activeTogether) } : {}),
    ...cpuFigures(result, each, place),
    timeAccounted: accountedShare(result.times),
    inDoubt: result.inDoubt,
    ...(params.transaction === 'two-branches' ? { preparesPassedOn: each(counts.preparesPassedOn) } : {}),
  };
}

/** Embedded sessions are in the process of their instance, so their CPU is not reported separately. */
function cpuFigures(
  { cpuUs, serverCpuUs }: Pick<XaResult, 'cpuUs' | 'serverCpuUs'>,
  each: (value: number) => number,
  place: 'embedded' | 'remote',
): Record<string, number> {
  if (place === 'embedded') return { cpuUsPerTransaction: each(cpuUs) };
  return {
    ...(serverCpuUs === null ? {} : { cpuUsPerTransaction: each(serverCpuUs) }),
    clientCpuUsPerTransaction: each(cpuUs),
  };
}
