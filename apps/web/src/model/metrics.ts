/** What the scaling chart can show over threads: one figure of a point each. */
import type { Point } from '@shardlab/contract';
import { formatAxisCount, formatMicros, formatMs, formatRate } from './format.ts';

export type MetricId = 'dequeue' | 'enqueue' | 'cpu' | 'p99';

export interface Metric {
  id: MetricId;
  /** For a switch. */
  label: string;
  title: string;
  unit: string;
  read(point: Point): number;
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
    title: 'Dequeue rate over threads',
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
    title: 'Enqueue rate over threads',
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
    title: 'CPU time per dequeued message over threads',
    unit: 'microseconds, all instances',
    read: (point) => point.cpuUsPerMessage,
    format: formatMicros,
    formatAxis: formatAxisCount,
    reference: null,
    scalesWithThreads: false,
  },
  p99: {
    id: 'p99',
    label: 'Latency p99',
    title: 'Latency from enqueue to dequeue, 99th percentile, over threads',
    unit: 'milliseconds',
    read: (point) => point.latencyMs.p99,
    format: formatMs,
    formatAxis: formatAxisCount,
    reference: null,
    scalesWithThreads: false,
  },
};

export const metricIds = Object.keys(metrics) as MetricId[];
