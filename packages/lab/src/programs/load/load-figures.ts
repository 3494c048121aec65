/** Figures of the programs that load a system for a time. */
import type { FigureInfo } from '@shardlab/contract';
import { milliseconds } from '../figure-info.ts';
import { probeFigures } from '../probe-figures.ts';
import { sessionTimeFigures } from '../session-time-figures.ts';

const enqueueRate: FigureInfo = {
  name: 'enqueuePerSec',
  label: 'Enqueue rate',
  title: 'Enqueue rate',
  unit: 'messages per second',
  format: 'rate',
};

const dequeueRate: FigureInfo = {
  name: 'dequeuePerSec',
  label: 'Dequeue rate',
  title: 'Dequeue rate',
  unit: 'messages per second',
  format: 'rate',
};

const cpu: FigureInfo = {
  name: 'cpuUsPerMessage',
  label: 'CPU per message',
  title: 'CPU time of client and server per message',
  unit: 'microseconds, for its enqueue and its dequeue; load generator included',
  format: 'microseconds',
};

const serverCpu: FigureInfo = {
  name: 'serverCpuUsPerMessage',
  label: 'CPU of the server',
  title: 'CPU time of the server per message',
  unit: 'microseconds, for its enqueue and its dequeue; of systems with a server',
  format: 'microseconds',
};

const memory: FigureInfo = {
  name: 'residentMiB',
  label: 'Resident, MiB',
  title: 'Largest resident memory of a client process',
  unit: 'MiB; an embedded queue is part of the client',
  format: 'count',
};

/** What a message causes, which other work on the machine hardly changes (at low rates timers make objects too); of enqueues where nothing is dequeued beside them. */
const counts: readonly FigureInfo[] = [
  {
    name: 'syncsPerMessage',
    label: 'Syncs a message',
    title: 'Synced groups or transactions per message',
    unit: 'syncs, without checkpoints; of embedded queues that count them',
    format: 'ratio',
  },
  {
    name: 'rowsPerMessage',
    label: 'Rows a message',
    title: 'Rows inserted per message',
    unit: 'rows; of the bounds, which count them',
    format: 'ratio',
  },
  {
    name: 'diskBytesPerMessage',
    label: 'Bytes to the disk a message',
    title: 'Bytes that the client process wrote to the disk per message, by the count of the kernel',
    unit: 'bytes; of systems without a server',
    format: 'count',
  },
  {
    name: 'heapBytesPerMessage',
    label: 'Bytes of objects a message',
    title: 'Bytes of objects that the session thread made per message',
    unit: 'bytes; load generator included',
    format: 'count',
  },
];

const eventLoopDelay = milliseconds(
  'eventLoopDelayP99Ms',
  '99th percentile of how late timers fire in the client process',
  { label: 'Event-loop delay p99', unit: 'milliseconds; an embedded queue is part of the client' },
);

const latencies = [
  milliseconds('latencyP50Ms', 'Median latency from the intended send time to the delivery', {
    label: 'Latency p50',
  }),
  milliseconds('latencyP99Ms', '99th percentile of the latency from the intended send time to the delivery', {
    label: 'Latency p99',
  }),
].map((figure): FigureInfo => ({ ...figure, ifSteady: true }));

export const closedLoopFigures: readonly FigureInfo[] = [
  enqueueRate,
  dequeueRate,
  cpu,
  serverCpu,
  ...counts,
  eventLoopDelay,
  memory,
  ...sessionTimeFigures,
  ...probeFigures,
];

export const openLoopFigures: readonly FigureInfo[] = [
  ...latencies,
  {
    name: 'offeredPerSec',
    label: 'Offered rate',
    title: 'Rate at which messages were to be sent',
    unit: 'messages per second',
    format: 'rate',
  },
  dequeueRate,
  milliseconds(
    'scheduleLagP99Ms',
    '99th percentile of the time from the intended start of a transaction to its start',
    { label: 'Schedule lag p99' },
  ),
  eventLoopDelay,
  cpu,
  ...sessionTimeFigures,
];

export const standingBacklogFigures: readonly FigureInfo[] = [
  dequeueRate,
  enqueueRate,
  milliseconds(
    'readyAfterKillMs',
    'Time from opening the files of a killed process until messages can be enqueued and dequeued',
    { label: 'Ready after a kill' },
  ),
  cpu,
  memory,
  ...sessionTimeFigures,
];
