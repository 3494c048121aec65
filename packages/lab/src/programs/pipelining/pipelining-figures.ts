/** The figures of the program `pipelining`, from what its threads counted in slices of the measured window. */
import type { FigureInfo } from '@shardlab/contract';
import { cores, rate, ratio } from '../figure-info.ts';
import { type PipeliningResult, type SliceCounts, sliceMs, type ThreadReport } from './pipelining-job.ts';

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

export function figuresOf(result: PipeliningResult): Record<string, number> {
  const { consumers, producers, cpu, openedAtMs, closedAtMs } = result;
  const ms = closedAtMs - openedAtMs;
  const inWindow = (counts: SliceCounts) => sliceRange(counts, openedAtMs, closedAtMs);
  const messages = (report: ThreadReport) => sum(inWindow(report.counts).messages);
  const waitedMs = (report: ThreadReport) => sum(inWindow(report.counts).waitedMs);
  const ofAll = consumers.map(({ counts }) => inWindow(counts).messages);
  const received = ofAll[0]!.map((_, slice) => sum(ofAll.map((slices) => slices[slice] ?? 0)));
  const seconds = (sliceMs * received.length) / 1_000;
  const sent = messages(producers);
  const sending = sum(inWindow(producers.counts).messages) > 0;
  return {
    messagesPerSec: sum(received) / consumers.length / seconds,
    sentPerSec: sent / seconds,
    rateDeviation: deviationOf(received),
    receiveWaitShare: Math.min(1, sum(consumers.map(waitedMs)) / consumers.length / ms),
    ...(sending && { sendWaitShare: Math.min(1, waitedMs(producers) / producersOf(producers) / ms) }),
    refusedPerSec: producers.refused / (ms / 1_000),
    consumerCores: sum(cpu.consumerCores) / consumers.length,
    cpuCores: cpu.processCores,
  };
}

const producersOf = ({ ledger }: ThreadReport) => Math.max(1, ledger.committed.size);

/** Whole slices within the window. */
function sliceRange({ startedAtMs, messages, waitedMs }: SliceCounts, fromMs: number, toMs: number) {
  const first = Math.max(0, Math.ceil((fromMs - startedAtMs) / sliceMs));
  const end = Math.max(first, Math.floor((toMs - startedAtMs) / sliceMs));
  const padded = (values: readonly number[]) =>
    Array.from({ length: end - first }, (_, index) => values[first + index] ?? 0);
  return { messages: padded(messages), waitedMs: padded(waitedMs) };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** Over windows of four slices, so that one wake-up of a thread more or less is no deviation. */
function deviationOf(slices: readonly number[]): number {
  const windows = Array.from({ length: Math.floor(slices.length / 4) }, (_, index) =>
    sum(slices.slice(index * 4, index * 4 + 4)),
  );
  const mean = sum(windows) / windows.length;
  return Math.sqrt(sum(windows.map((each) => (each - mean) ** 2)) / windows.length) / mean;
}
