/** The metrics that a scaling chart can show. */
import type { Point } from '@shardlab/contract';
import { formatAxisCount, formatCores, formatMicros, formatMs, formatRate } from './format.ts';

export type MetricId = 'dequeue' | 'enqueue' | 'cpu' | 'busiest' | 'call' | 'p99';

/** The values that the metrics read. Measured points and simulated ones both have them. */
export interface PointMetrics
  extends Pick<Point, 'dequeuePerSec' | 'enqueuePerSec' | 'cpuUsPerMessage' | 'cpuShareByInstance'> {
  dequeueCallMs: { p50: number };
  latencyMs: { p50: number; p99: number };
}

export interface Metric {
  id: MetricId;
  /** Short name, for the control that selects the metric. */
  label: string;
  /** Title of the chart, to be followed by "over threads" or another axis. */
  title: string;
  unit: string;
  read(point: PointMetrics): number;
  format(value: number): string;
  formatAxis(value: number): string;
  /** Name of the metric in `Scenario.references`; null if a document cannot give a value for it. */
  reference: 'dequeuePerSec' | 'enqueuePerSec' | null;
  /** Whether the ideal is proportional to the number of threads; the chart then shows a linear guide. */
  scalesWithThreads: boolean;
}

export const metrics: Readonly<Record<MetricId, Metric>> = {
  dequeue: {
    id: 'dequeue',
    label: 'Dequeue rate',
    title: 'Dequeue rate',
    unit: 'messages per second',
    read: (point) => point.dequeuePerSec,
    format: formatRate,
    formatAxis: formatAxisCount,
    reference: 'dequeuePerSec',
    scalesWithThreads: true,
  },
  enqueue: {
    id: 'enqueue',
    label: 'Enqueue rate',
    title: 'Enqueue rate',
    unit: 'messages per second',
    read: (point) => point.enqueuePerSec,
    format: formatRate,
    formatAxis: formatAxisCount,
    reference: 'enqueuePerSec',
    scalesWithThreads: true,
  },
  cpu: {
    id: 'cpu',
    label: 'CPU per message',
    title: 'CPU time per dequeued message',
    unit: 'microseconds, sum of all instances',
    read: (point) => point.cpuUsPerMessage,
    format: formatMicros,
    formatAxis: formatAxisCount,
    reference: null,
    scalesWithThreads: false,
  },
  busiest: {
    id: 'busiest',
    label: 'Busiest instance',
    title: 'CPU of the busiest instance',
    unit: 'cores',
    read: (point) => Math.max(0, ...point.cpuShareByInstance),
    format: formatCores,
    formatAxis: formatAxisCount,
    reference: null,
    scalesWithThreads: false,
  },
  call: {
    id: 'call',
    label: 'Dequeue call',
    title: 'Median duration of a dequeue call with messages ready',
    unit: 'milliseconds',
    read: (point) => point.dequeueCallMs.p50,
    format: formatMs,
    formatAxis: formatAxisCount,
    reference: null,
    scalesWithThreads: false,
  },
  p99: {
    id: 'p99',
    label: 'Latency p99',
    title: '99th percentile of the latency from enqueue to dequeue',
    unit: 'milliseconds',
    read: (point) => point.latencyMs.p99,
    format: formatMs,
    formatAxis: formatAxisCount,
    reference: null,
    scalesWithThreads: false,
  },
};

export const metricIds = Object.keys(metrics) as MetricId[];
