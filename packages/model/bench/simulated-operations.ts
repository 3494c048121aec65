/**
 * How many operations (messages in and out) are simulated in a second:
 * `node packages/model/bench/simulated-operations.ts [operations]`. The aim is a million, so that a what-if answers while
 * a slider moves. Seconds are those of this thread's CPU, which on a quiet machine are those of the clock; best of three,
 * since what disturbs a run only ever makes it slower.
 */
import { type ClusterCosts, type ModelWorkload, simulate } from '@shardlab/model';
import { clusterLike, nodeLike, workloadWith } from '../test/model-costs.ts';

const aim = 1_000_000;

const cases: readonly { name: string; costs: ClusterCosts; workload: ModelWorkload }[] = [
  {
    name: 'remote queue, 8 instances, 32 + 32 sessions',
    costs: clusterLike,
    workload: workloadWith({ instances: 8, enqueuers: 32, dequeuers: 32 }),
  },
  {
    name: 'remote topic, 8 instances, 32 + 320 sessions',
    costs: clusterLike,
    workload: workloadWith({ instances: 8, enqueuers: 32, dequeuers: 320, subscribers: 10 }),
  },
  {
    name: 'remote unsharded, 8 instances, 32 + 32 sessions',
    costs: clusterLike,
    workload: workloadWith({ kind: 'unsharded', instances: 8, enqueuers: 32, dequeuers: 32 }),
  },
  {
    name: 'embedded queue, 2 instances, 16 + 16 sessions, 1 a transaction',
    costs: nodeLike,
    workload: workloadWith({ instances: 2, enqueuers: 16, dequeuers: 16, operationsPerTransaction: 1 }),
  },
  {
    name: 'embedded queue, 2 instances, 16 + 16 sessions, 10 a transaction',
    costs: nodeLike,
    workload: workloadWith({ instances: 2, enqueuers: 16, dequeuers: 16 }),
  },
  {
    name: 'remote queue, 64 instances, 2,048 + 2,048 sessions',
    costs: clusterLike,
    workload: workloadWith({ instances: 64, enqueuers: 2048, dequeuers: 2048 }),
  },
];

export interface BenchLine {
  name: string;
  operationsPerSec: number;
  eventsPerSec: number;
}

export function benchModel(measureOperations: number, rounds = 3): BenchLine[] {
  return cases.map(({ name, costs, workload }) => {
    let best: BenchLine = { name, operationsPerSec: 0, eventsPerSec: 0 };
    for (let round = 0; round < rounds; round++) {
      const before = process.threadCpuUsage();
      const { operations, events } = simulate({ costs, workload, warmupOperations: 0, measureOperations });
      const { user, system } = process.threadCpuUsage(before);
      const seconds = (user + system) / 1e6;
      const line = { name, operationsPerSec: operations / seconds, eventsPerSec: events / seconds };
      if (line.operationsPerSec > best.operationsPerSec) best = line;
    }
    return best;
  });
}

if (import.meta.main) {
  const operations = Number(process.argv[2] ?? 1_000_000);
  for (const { name, operationsPerSec, eventsPerSec } of benchModel(operations)) {
    const rate = Math.round(operationsPerSec).toLocaleString('en-US').padStart(12);
    const events = (eventsPerSec / 1e6).toFixed(1).padStart(6);
    process.stdout.write(
      `${rate} operations/s ${events} M events/s  ${operationsPerSec >= aim ? ' ' : '!'} ${name}\n`,
    );
  }
}
