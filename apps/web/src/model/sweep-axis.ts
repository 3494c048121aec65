/** What the scaling chart shows its points over: the threads, or what a scenario varies more than them. */
import { type PointParams, rowsInWords, type Scenario } from '@shardlab/contract';
import { formatAxisCount, formatCount, plural } from './format.ts';

type Sweep = Scenario['sweep'];
type AxisId =
  | 'threads'
  | 'subscribers'
  | 'backlog'
  | 'payloadBytes'
  | 'operationsPerTransaction'
  | 'cacheMiB';

export interface SweepAxis {
  id: AxisId;
  /** "Dequeue rate over threads" */
  over: string;
  /** Below the axis. */
  title: string;
  /** "16 threads" */
  inWords(value: number): string;
  format(value: number): string;
}

const axes: Readonly<Record<AxisId, Omit<SweepAxis, 'id' | 'format'>>> = {
  threads: {
    over: 'threads',
    title: 'threads (enqueuers, and as many dequeuers)',
    inWords: (value) => plural(value, 'thread'),
  },
  subscribers: {
    over: 'subscribers',
    title: 'subscribers of the topic',
    inWords: (value) => plural(value, 'subscriber'),
  },
  backlog: {
    over: 'the backlog',
    title: 'messages that waited before the warm-up',
    inWords: (value) => `backlog of ${formatCount(value)}`,
  },
  payloadBytes: {
    over: 'the payload',
    title: 'bytes of a payload',
    inWords: (value) => `${formatCount(value)} bytes`,
  },
  operationsPerTransaction: {
    over: 'the batch',
    title: 'operations a transaction',
    inWords: (value) => `${formatCount(value)} operations a transaction`,
  },
  cacheMiB: {
    over: 'the message cache',
    title: 'MiB of message cache',
    inWords: (value) => `cache of ${formatCount(value)} MiB`,
  },
};

/** The axis of the most values in the whole sweep, the threads where others have as many. */
export function sweepAxis(sweep: Sweep): SweepAxis {
  const ids = Object.keys(axes) as AxisId[];
  const count = (id: AxisId) => sweep[id]?.length ?? 0;
  const id = ids.reduce((most, each) => (count(each) > count(most) ? each : most), 'threads');
  return { id, ...axes[id], format: formatAxisCount };
}

/** What the lines of one queue, instance count and round trip differ in, since it is not on the axis. */
export function besideAxis(params: PointParams, sweep: Sweep, axis: SweepAxis): string[] {
  const words = (Object.keys(axes) as AxisId[]).flatMap((id) => {
    const value = params[id];
    const isVaried = (sweep[id]?.length ?? 0) > 1;
    return id === axis.id || value === undefined || !isVaried ? [] : [axes[id].inWords(value)];
  });
  if ((sweep.durability?.length ?? 0) > 1 && params.durability !== undefined) words.push(params.durability);
  if ((sweep.rows?.length ?? 0) > 1 && params.rows !== undefined) words.push(rowsInWords[params.rows]);
  if ((sweep.dequeuers?.length ?? 0) > 1 && params.dequeuers !== undefined)
    words.push(`dequeuers ${params.dequeuers}`);
  return words;
}
