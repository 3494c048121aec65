/** The four charts over time: their words, their scales, and what of a sample they read out. */
import { formatAxisCount, formatCores, formatMs, formatRate, formatSessions } from '../model/format.ts';
import type { TimeSample } from '../model/time-series.ts';
import { waitClasses } from '../model/time-series.ts';

export interface PanelSpec {
  id: string;
  title: string;
  unit: string;
  scale: 'linear' | 'log';
  /** Whether a line stands at the number of cores. */
  showsCores: boolean;
  formatAxis(value: number): string;
  /** Names and figures of a sample, first the one that matters most. */
  figures(sample: TimeSample): { name: string; text: string }[];
  /** The same for the data table, unrounded. */
  columns: { name: string; read(sample: TimeSample): number | null }[];
}

const onCpu = (sample: TimeSample): number => sample.cpu.reduce((sum, cores) => sum + cores, 0);

export const ratePanel: PanelSpec = {
  id: 'rate',
  title: 'Rate',
  unit: 'messages per second, all instances, logarithmic',
  scale: 'log',
  showsCores: false,
  formatAxis: formatAxisCount,
  figures: (sample) => [
    { name: 'dequeue', text: formatRate(sample.dequeuePerSec) },
    { name: 'enqueue', text: formatRate(sample.enqueuePerSec) },
  ],
  columns: [
    { name: 'Enqueue per second', read: (sample) => sample.enqueuePerSec },
    { name: 'Dequeue per second', read: (sample) => sample.dequeuePerSec },
  ],
};

export const latencyPanel: PanelSpec = {
  id: 'latency',
  title: 'Latency from enqueue to dequeue',
  unit: 'milliseconds, logarithmic; of the slowest instance',
  scale: 'log',
  showsCores: false,
  formatAxis: formatAxisCount,
  figures: ({ latency }) =>
    latency === null
      ? [{ name: 'nothing delivered', text: '' }]
      : [
          { name: 'p50', text: formatMs(latency.p50) },
          { name: 'p99', text: formatMs(latency.p99) },
        ],
  columns: [
    { name: 'p50 ms', read: (sample) => sample.latency?.p50 ?? null },
    { name: 'p99 ms', read: (sample) => sample.latency?.p99 ?? null },
  ],
};

export const cpuPanel: PanelSpec = {
  id: 'cpu',
  title: 'CPU by instance',
  unit: 'cores kept busy, stacked',
  scale: 'linear',
  showsCores: true,
  formatAxis: formatAxisCount,
  figures: (sample) => [
    { name: 'together', text: formatCores(onCpu(sample)) },
    ...(sample.cpu.length > 1 && sample.cpu.length <= 4
      ? sample.cpu.map((cores, index) => ({ name: `instance ${index + 1}`, text: formatSessions(cores) }))
      : []),
  ],
  columns: [{ name: 'Cores busy', read: onCpu }],
};

export const waitPanel: PanelSpec = {
  id: 'waits',
  title: 'Waits by class',
  unit: 'average active sessions, stacked on those on CPU; idle waits left out',
  scale: 'linear',
  showsCores: true,
  formatAxis: formatAxisCount,
  figures: (sample) => [
    { name: 'on CPU', text: formatSessions(onCpu(sample)) },
    ...waitClasses
      .filter((name) => sample.waits[name] >= 0.005)
      .map((name) => ({ name: name as string, text: formatSessions(sample.waits[name]) })),
  ],
  columns: [
    { name: 'On CPU', read: onCpu },
    ...waitClasses.map((name) => ({
      name: name as string,
      read: (sample: TimeSample) => sample.waits[name],
    })),
  ],
};
