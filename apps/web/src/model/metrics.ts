/** What the scaling chart can show: one figure of a point each. */
import type { Point } from '@shardlab/contract';
import { formatAxisCount, formatCores, formatMicros, formatMs, formatRate } from './format.ts';

export type MetricId = 'dequeue' | 'enqueue' | 'cpu' | 'busiest' | 'call' | 'p99';

/** Of a measured point or of a simulated one. */
export interface Figures
  extends Pick<Point, 'dequeuePerSec' | 'enqueuePerSec' | 'cpuUsPerMessage' | 'cpuShareByInstance'> {
  dequeueCallMs: { p50: number };
  latencyMs: { p50: number; p99: number };
}

export interface Metric {
  id: MetricId;
  /** For a switch. */
  label: string;
  /** Without what it is shown over. */
  title: string;
  unit: string;
  read(point: Figures): number;
  format(value: number): string;
  formatAxis(value: number): string;
  /** The wire's name, where a scenario may give the document's number for it. */
  reference: 'dequeuePerSec' | 'enqueuePerSec' | null;
  /** Whether a value in proportion to the threads is the ideal, so that a linear guide helps. */
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
    unit: 'microseconds, all instances',
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
    title: 'Time of a dequeue call where messages are ready, median,',
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
    title: 'Latency from enqueue to dequeue, 99th percentile,',
    unit: 'milliseconds',
    read: (point) => point.latencyMs.p99,
    format: formatMs,
    formatAxis: formatAxisCount,
    reference: null,
    scalesWithThreads: false,
  },
};

export const metricIds = Object.keys(metrics) as MetricId[];
