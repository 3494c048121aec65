/** The figures of the program `xa`. */
import type { FigureInfo } from '@shardlab/contract';
import { logFileSync } from '@shardlab/engine';
import { accountedShare } from '../../trial/session-times.ts';
import type { XaResult } from './xa-job.ts';
import type { XaParams } from './xa-params.ts';

/** Stands for the document's DFS lock handle. */
const lockEvent = 'global transaction lock';

const figure = (
  name: string,
  label: string,
  title: string,
  unit: string,
  format: FigureInfo['format'],
): FigureInfo => ({
  name,
  label,
  title,
  unit,
  format,
});
const perTransaction = 'per transaction';
const count = (name: string, label: string, title: string) =>
  figure(name, label, `${title} of a transaction`, perTransaction, 'count');
const ms = (name: string, label: string, title: string, unit = 'milliseconds') =>
  figure(name, label, title, unit, 'milliseconds');

export const xaFigures: readonly FigureInfo[] = [
  figure('messagesPerSec', 'Message rate', 'Rate of messages', 'messages per second', 'rate'),
  figure('transactionsPerSec', 'Transaction rate', 'Rate of transactions', 'transactions per second', 'rate'),
  ms('elapsedMs', 'Elapsed', 'Elapsed time of the run'),
  ms(
    'elapsedMsPerTransaction',
    'Elapsed a transaction',
    'Elapsed time of a transaction',
    `milliseconds ${perTransaction}`,
  ),
  ms(
    'elapsedMsPerMessage',
    'Elapsed a message',
    'Elapsed time of the run for each message',
    'milliseconds per message',
  ),
  count('callsPerTransaction', 'Calls', 'Calls of the client'),
  count('roundTripsPerTransaction', 'Round trips', 'Requests that leave the client'),
  count('readOnlyPerTransaction', 'Read-only answers', 'Prepares that are answered with read-only'),
  count('syncsPerTransaction', 'Log file syncs', 'Waits for a log file sync'),
  ms('syncMsPerWait', 'A log file sync', 'Mean wait for a log file sync'),
  count('lockWaitsPerTransaction', 'Lock waits', 'Waits for the lock of the global transaction'),
  ms(
    'lockMsPerTransaction',
    'Lock time',
    'Time in waits for the lock of the global transaction',
    `milliseconds ${perTransaction}`,
  ),
  figure(
    'activeTogetherShare',
    'Active together',
    'Transactions in which both branches were active at the same time',
    'share of the transactions',
    'ratio',
  ),
  figure(
    'cpuUsPerTransaction',
    'CPU',
    'CPU of the instances for each transaction',
    `microseconds ${perTransaction}`,
    'microseconds',
  ),
  figure(
    'clientCpuUsPerTransaction',
    'Client CPU',
    'CPU of the client for each transaction',
    `microseconds ${perTransaction}`,
    'microseconds',
  ),
  figure(
    'timeAccounted',
    'Time accounted',
    "Share of the sessions' time that CPU, waits, idle and runnable explain",
    'share',
    'ratio',
  ),
  figure('inDoubt', 'In doubt', 'Branches in doubt at the end', 'branches', 'count'),
  count('preparesPassedOn', 'Prepares passed on', 'Prepares that one instance passes on to another'),
];

/** Without those that could not be measured. */
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
    ...(counts.preparesPassedOn === 0 ? {} : { preparesPassedOn: each(counts.preparesPassedOn) }),
  };
}

/** Embedded sessions are in the process of their instance, so their CPU is not told apart. */
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
