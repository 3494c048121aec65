/** The horizontal axis of the scaling chart: threads, or the parameter that the scenario varies most. */
import { type PointParams, rowsDescriptions, type Scenario } from '@shardlab/contract';
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
  /** Completes a title: "Dequeue rate over threads". */
  over: string;
  /** Label below the axis. */
  title: string;
  /** "16 threads" */
  describe(value: number): string;
  format(value: number): string;
}

const axes: Readonly<Record<AxisId, Omit<SweepAxis, 'id' | 'format'>>> = {
  threads: {
    over: 'threads',
    title: 'threads (n enqueuers and n dequeuers)',
    describe: (value) => plural(value, 'thread'),
  },
  subscribers: {
    over: 'subscribers',
    title: 'subscribers of the topic',
    describe: (value) => plural(value, 'subscriber'),
  },
  backlog: {
    over: 'the backlog',
    title: 'messages in the queue before the warm-up',
    describe: (value) => `backlog of ${formatCount(value)}`,
  },
  payloadBytes: {
    over: 'the payload size',
    title: 'payload bytes',
    describe: (value) => `${formatCount(value)} bytes`,
  },
  operationsPerTransaction: {
    over: 'the operations per transaction',
    title: 'operations per transaction',
    describe: (value) => `${formatCount(value)} operations per transaction`,
  },
  cacheMiB: {
    over: 'the size of the message cache',
    title: 'message cache, MiB',
    describe: (value) => `cache of ${formatCount(value)} MiB`,
  },
};

/** The parameter with the most values in the sweep; threads on a tie. */
export function sweepAxis(sweep: Sweep): SweepAxis {
  const ids = Object.keys(axes) as AxisId[];
  const count = (id: AxisId) => sweep[id]?.length ?? 0;
  const id = ids.reduce((most, candidate) => (count(candidate) > count(most) ? candidate : most), 'threads');
  return { id, ...axes[id], format: formatAxisCount };
}

/** Text for the further parameters that the sweep varies and that are not on the axis. */
export function otherVariedParams(params: PointParams, sweep: Sweep, axis: SweepAxis): string[] {
  const texts = (Object.keys(axes) as AxisId[]).flatMap((id) => {
    const value = params[id];
    const isVaried = (sweep[id]?.length ?? 0) > 1;
    return id === axis.id || value === undefined || !isVaried ? [] : [axes[id].describe(value)];
  });
  if ((sweep.durability?.length ?? 0) > 1 && params.durability !== undefined) texts.push(params.durability);
  if ((sweep.rows?.length ?? 0) > 1 && params.rows !== undefined) texts.push(rowsDescriptions[params.rows]);
  if ((sweep.dequeuers?.length ?? 0) > 1 && params.dequeuers !== undefined)
    texts.push(`dequeuers ${params.dequeuers}`);
  return texts;
}
