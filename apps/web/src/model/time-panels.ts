/** The time charts of a run: text, scale, and the values of a sample that each shows. */
import { formatAxisCount, formatCores, formatCount, formatMs, formatRate, formatSessions } from './format.ts';
import type { TimeSample } from './time-series.ts';
import { waitClasses } from './time-series.ts';

export interface TimePanelSpec {
  id: string;
  title: string;
  unit: string;
  scale: 'linear' | 'log';
  /** Whether a line marks the number of cores. */
  showsCores: boolean;
  formatAxis(value: number): string;
  /** Names and values of a sample for the readout, the most important first. */
  readout(sample: TimeSample): { name: string; text: string }[];
  /** Columns of the data table, unrounded. */
  columns: { name: string; read(sample: TimeSample): number | null }[];
}

const onCpu = (sample: TimeSample): number => sample.cpu.reduce((sum, cores) => sum + cores, 0);

export const ratePanel: TimePanelSpec = {
  id: 'rate',
  title: 'Rate',
  unit: 'messages per second of all instances, logarithmic',
  scale: 'log',
  showsCores: false,
  formatAxis: formatAxisCount,
  readout: (sample) => [
    { name: 'dequeue', text: formatRate(sample.dequeuePerSec) },
    { name: 'enqueue', text: formatRate(sample.enqueuePerSec) },
  ],
  columns: [
    { name: 'Enqueue per second', read: (sample) => sample.enqueuePerSec },
    { name: 'Dequeue per second', read: (sample) => sample.dequeuePerSec },
  ],
};

export const latencyPanel: TimePanelSpec = {
  id: 'latency',
  title: 'Latency from enqueue to dequeue',
  unit: 'milliseconds of the slowest instance, logarithmic',
  scale: 'log',
  showsCores: false,
  formatAxis: formatAxisCount,
  readout: ({ latency }) =>
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

export const backlogPanel: TimePanelSpec = {
  id: 'backlog',
  title: 'Backlog',
  unit: 'messages enqueued and not yet consumed',
  scale: 'linear',
  showsCores: false,
  formatAxis: formatAxisCount,
  readout: ({ backlog }) => [{ name: 'backlog', text: formatCount(backlog) }],
  columns: [{ name: 'Backlog', read: ({ backlog }) => backlog }],
};

export const cpuPanel: TimePanelSpec = {
  id: 'cpu',
  title: 'CPU by instance',
  unit: 'cores kept busy, stacked',
  scale: 'linear',
  showsCores: true,
  formatAxis: formatAxisCount,
  readout: (sample) => [
    { name: 'total', text: formatCores(onCpu(sample)) },
    ...(sample.cpu.length > 1 && sample.cpu.length <= 4
      ? sample.cpu.map((cores, index) => ({ name: `instance ${index + 1}`, text: formatSessions(cores) }))
      : []),
  ],
  columns: [{ name: 'Cores busy', read: onCpu }],
};

export const waitPanel: TimePanelSpec = {
  id: 'waits',
  title: 'Waits by class',
  unit: 'average sessions on CPU or waiting; without idle waits and runnable sessions',
  scale: 'linear',
  showsCores: true,
  formatAxis: formatAxisCount,
  readout: (sample) => [
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
