/** The figures of the program `pipelining`, from what its threads counted in slices of the measured window. */
import type { FigureInfo, RateSeries } from '@shardlab/contract';
import { cores, rate, ratio } from '../figure-info.ts';
import { measuredOnly } from '../load/step-figures.ts';
import type { ThreadReport, ThreadsResult } from './pipelining-job.ts';
import { deviationOf, inWindow, perSecOf, rateSeries, sum } from './slices.ts';

export const pipeliningFigures: readonly FigureInfo[] = [
  rate('messagesPerSec', 'Messages that each subscriber receives', { label: 'Rate of a subscriber' }),
  rate('sentPerSec', 'Messages that all producers send', { label: 'Rate of producers' }),
  ratio('rateDeviation', 'Standard deviation of the rate of subscribers, from slice to slice', {
    label: 'Deviation of the rate',
    unit: 'share of the mean',
  }),
  ratio('receiveWaitShare', 'Time that a consumer waits in receive', {
    label: 'Waiting to receive',
    unit: 'share of its time',
  }),
  ratio('sendWaitShare', 'Time that a producer waits in send', {
    label: 'Waiting to send',
    unit: 'share of its time',
  }),
  rate('refusedPerSec', 'Sends that are refused and tried again', { label: 'Refused' }),
  cores('consumerCores', 'CPU of a consumer'),
  cores('cpuCores', 'CPU of the process'),
];

export function figuresOf(result: ThreadsResult): Record<string, number> {
  const { consumers, producers, cpu, openedAtMs, closedAtMs } = result;
  const ms = closedAtMs - openedAtMs;
  const waitedMs = (report: ThreadReport) => sum(inWindow(report, result).waitedMs);
  const received = receivedOf(result);
  const sent = inWindow(producers, result).messages;
  return measuredOnly({
    messagesPerSec: perSecOf(received) / consumers.length,
    sentPerSec: perSecOf(sent),
    rateDeviation: deviationOf(rateSeries('', received)),
    receiveWaitShare: Math.min(1, sum(consumers.map(waitedMs)) / consumers.length / ms),
    sendWaitShare: sum(sent) > 0 ? Math.min(1, waitedMs(producers) / producersOf(producers) / ms) : undefined,
    refusedPerSec: producers.refused / (ms / 1_000),
    consumerCores: sum(cpu.consumerCores) / consumers.length,
    cpuCores: cpu.processCores,
  });
}

/** Rates of all producers together, and of each subscriber. */
export const ratesOf = (result: ThreadsResult): RateSeries[] => [
  rateSeries('producers', inWindow(result.producers, result).messages),
  ...result.consumers.map((report, index) =>
    rateSeries(`subscriber ${index + 1}`, inWindow(report, result).messages),
  ),
];

/** Messages received by all subscribers together, by slice. */
function receivedOf(result: ThreadsResult): number[] {
  const ofAll = result.consumers.map((report) => inWindow(report, result).messages);
  return ofAll[0]!.map((_, slice) => sum(ofAll.map((slices) => slices[slice] ?? 0)));
}

export const producersOf = ({ ledger }: ThreadReport) => Math.max(1, ledger.committed.size);
