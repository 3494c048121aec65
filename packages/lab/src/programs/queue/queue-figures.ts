/** What the programs `queue` and `topic` measure. */
import type { FigureInfo } from '@shardlab/contract';

export const queueFigures: readonly FigureInfo[] = [
  {
    name: 'dequeuePerSec',
    label: 'Dequeue rate',
    title: 'Dequeue rate',
    unit: 'messages per second',
    format: 'rate',
    growsWith: 'threads',
  },
  {
    name: 'enqueuePerSec',
    label: 'Enqueue rate',
    title: 'Enqueue rate',
    unit: 'messages per second',
    format: 'rate',
    growsWith: 'threads',
  },
  {
    name: 'cpuUsPerMessage',
    label: 'CPU per message',
    title: 'CPU time per dequeued message',
    unit: 'microseconds, sum of all instances',
    format: 'microseconds',
  },
  {
    name: 'busiestCores',
    label: 'Busiest instance',
    title: 'CPU of the busiest instance',
    unit: 'cores',
    format: 'cores',
  },
  {
    name: 'syncsPerSec',
    label: 'Syncs',
    title: 'Synced group commits of all instances',
    unit: 'syncs per second',
    format: 'rate',
  },
  {
    name: 'dequeueCallP50Ms',
    label: 'Dequeue call',
    title: 'Median duration of a dequeue call with messages ready',
    unit: 'milliseconds',
    format: 'milliseconds',
  },
  {
    name: 'dequeueCallMeanMs',
    label: 'Dequeue call, mean',
    title: 'Mean duration of a dequeue call with messages ready',
    unit: 'milliseconds',
    format: 'milliseconds',
  },
  {
    name: 'latencyP50Ms',
    label: 'Latency p50',
    title: 'Median latency from enqueue to dequeue',
    unit: 'milliseconds',
    format: 'milliseconds',
  },
  {
    name: 'latencyP99Ms',
    label: 'Latency p99',
    title: '99th percentile of the latency from enqueue to dequeue',
    unit: 'milliseconds',
    format: 'milliseconds',
  },
  {
    name: 'rawPerSec',
    label: 'Raw limit',
    title: 'Rows per second through SQLite alone, before and after the trial',
    unit: 'rows per second',
    format: 'rate',
  },
  {
    name: 'rawRatio',
    label: 'Share of the raw limit',
    title: 'Dequeue rate as a share of the raw limit beside the trial',
    unit: 'ratio',
    format: 'ratio',
  },
];
