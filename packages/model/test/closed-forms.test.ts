/** The simulation against formulas: where queueing theory has a closed form, the simulation must agree with it. */
import { simulate } from '@shardlab/model';
import { describe, expect, test } from 'vitest';
import { eventKinds, Kernel } from '../src/sim/kernel.ts';
import { createLayout } from '../src/sim/layout.ts';
import { LogHistogram } from '../src/sim/log-histogram.ts';
import { noThread, Processors } from '../src/sim/processors.ts';
import { SessionTimes } from '../src/sim/session-times.ts';
import { costsWith, workloadWith } from './model-costs.ts';

/** The mean time in the system, in µs, of jobs that arrive at random and are served on the cores of one node. */
function openQueue(options: { arrivalUs: number; serviceUs: number; cores: number; jobs: number }): number {
  const { arrivalUs, serviceUs, cores, jobs } = options;
  const slots = 4096;
  const costs = costsWith({ machine: { coresPerNode: cores } });
  const layout = createLayout(costs, workloadWith({ enqueuers: slots, dequeuers: 0 }));
  const kernel = new Kernel(7, slots);
  const host = { demandOf: () => kernel.random.sampleAround(serviceUs, 1) };
  const processors = new Processors(kernel, new SessionTimes(slots), layout, costs.machine, host);
  const arrivedAt = new Float64Array(slots);
  const times = new LogHistogram();
  let arrivals = 0;
  kernel.after(0, eventKinds.delay, 0);
  while (times.count < jobs && kernel.next(Number.POSITIVE_INFINITY)) {
    if (kernel.kind === eventKinds.delay) {
      const job = arrivals++ % slots;
      arrivedAt[job] = kernel.now;
      processors.request(job, noThread);
      kernel.after(kernel.random.sampleAround(arrivalUs, 1), eventKinds.delay, 0);
    } else {
      processors.releaseCore(kernel.index);
      times.record(kernel.now - arrivedAt[kernel.index]!);
    }
  }
  return times.mean;
}

describe('open queues', () => {
  test.each([0.3, 0.6, 0.8])(
    'M/M/1 at a load of %d: time in the system is 1 ÷ (service rate − arrival rate)',
    (load) => {
      const serviceUs = 10;
      const mean = openQueue({ arrivalUs: serviceUs / load, serviceUs, cores: 1, jobs: 400_000 });
      expect(mean / (serviceUs / (1 - load))).toBeCloseTo(1, 1);
    },
  );

  test('M/M/4 at a load of 0.8: Erlang C', () => {
    const [cores, load, serviceUs] = [4, 0.8, 10];
    const mean = openQueue({ arrivalUs: serviceUs / (load * cores), serviceUs, cores, jobs: 400_000 });
    const offered = load * cores;
    const term = (n: number) =>
      Array.from({ length: n }, (_, i) => offered / (i + 1)).reduce((a, b) => a * b, 1);
    const last = term(cores) / (1 - load);
    const waits = last / (Array.from({ length: cores }, (_, n) => term(n)).reduce((a, b) => a + b, 0) + last);
    const expected = serviceUs + (waits * serviceUs) / (cores * (1 - load));
    expect(mean / expected).toBeCloseTo(1, 1);
  });
});

describe('closed networks', () => {
  const [thinkUs, demandUs] = [900, 100];

  /**
   * The rate of sessions that wait for a round trip and then need CPU, once for the enqueue and once for the commit: the
   * machine repair model.
   */
  function machineRepair(sessions: number, variation: number): number {
    const { enqueuePerSec } = simulate({
      costs: costsWith({
        sessions: { roundTripUs: thinkUs / 2 },
        sharded: { enqueueUs: demandUs / 2, transactionUs: demandUs / 2 },
        variation: { cpu: variation, network: variation },
      }),
      workload: workloadWith({
        enqueuers: sessions,
        dequeuers: 0,
        operationsPerTransaction: 1,
        durability: 'memory',
      }),
      measureOperations: 150_000,
    });
    return enqueuePerSec;
  }

  /** The rate by mean value analysis, for one queue and a think time (Reiser and Lavenberg, 1980). */
  function meanValueAnalysis(sessions: number): number {
    let [queued, rate] = [0, 0];
    for (let n = 1; n <= sessions; n++) {
      const response = demandUs * (1 + queued);
      rate = n / (thinkUs + response);
      queued = rate * response;
    }
    return rate * 1e6;
  }

  test.each([1, 2, 5, 10, 20, 60])('%d sessions on one core: mean value analysis', (sessions) => {
    expect(Math.abs(machineRepair(sessions, 1) / meanValueAnalysis(sessions) - 1)).toBeLessThan(0.01);
  });

  test.each([1, 4, 9, 11, 30])(
    '%d sessions without variation: the rate is min(N ÷ (D + Z), 1 ÷ D)',
    (sessions) => {
      const bound = Math.min(sessions / (demandUs + thinkUs), 1 / demandUs) * 1e6;
      expect(machineRepair(sessions, 0) / bound).toBeCloseTo(1, 2);
    },
  );

  test('a group commit of one transaction takes the sum of all its steps', () => {
    const { enqueuePerSec, commitMs } = simulate({
      costs: costsWith({
        machine: { coresPerNode: 2 },
        sessions: { oneThread: true, clientEnqueueUs: 1, clientTransactionUs: 2 },
        redo: { groupsInFlight: 2, syncUs: 100, usPerKib: 1, threadHopUs: 10 },
        sharded: {
          callUs: 3,
          enqueueUs: 2,
          transactionUs: 5,
          groupUs: 20,
          writeGroupUs: 30,
          writeEnqueueUs: 4,
        },
      }),
      workload: workloadWith({
        enqueuers: 1,
        dequeuers: 0,
        operationsPerTransaction: 10,
        payloadBytes: 1024,
      }),
      measureOperations: 5_000,
    });
    const commitUs = 5 + 2 + 20 + 2 * 10 + (30 + 10 * 4) + (10 * 1 + 100);
    const transactionUs = 3 + 10 * (2 + 1) + commitUs;
    expect(commitMs.mean * 1000).toBeCloseTo(commitUs, 3);
    expect(enqueuePerSec).toBeCloseTo((10 * 1e6) / transactionUs, 3);
  });

  test('transactions that commit at the same time share one sync', () => {
    const { transactionsPerGroup, enqueuePerSec } = simulate({
      costs: costsWith({ machine: { coresPerNode: 64 }, redo: { syncUs: 1000 }, sharded: { enqueueUs: 1 } }),
      workload: workloadWith({ enqueuers: 50, dequeuers: 0, operationsPerTransaction: 1 }),
      measureOperations: 20_000,
    });
    // While one group syncs, the next one fills. With one group in flight, each has half of the sessions.
    expect(transactionsPerGroup).toBeGreaterThan(20);
    expect(enqueuePerSec).toBeGreaterThan(20_000);
    expect(enqueuePerSec).toBeLessThan(50_000);
  });

  test('an index block that every dequeue changes limits an unsharded queue to 1 ÷ its time, with any number of sessions', () => {
    const { dequeuePerSec, use } = simulate({
      costs: costsWith({
        machine: { coresPerNode: 64 },
        sessions: { roundTripUs: 10 },
        unsharded: { blocks: 2, claim: { messageUs: 50 }, enter: { entryUs: 50 } },
      }),
      workload: workloadWith({ kind: 'unsharded', enqueuers: 40, dequeuers: 40 }),
      measureOperations: 100_000,
    });
    expect(dequeuePerSec / 20_000).toBeCloseTo(1, 2);
    expect(use.indexBlock).toBeCloseTo(1, 2);
  });

  test('a resource of the whole cluster limits the rate of all instances together', () => {
    const { enqueuePerSec, dequeuePerSec, use } = simulate({
      costs: costsWith({
        machine: { nodes: 4, coresPerNode: 64 },
        sessions: { roundTripUs: 10 },
        maintenance: { scope: 'cluster', counts: 'operations', operationsPerPartition: 1, partitionUs: 5 },
      }),
      workload: workloadWith({ instances: 4, enqueuers: 40, dequeuers: 40 }),
      measureOperations: 100_000,
    });
    expect((enqueuePerSec + dequeuePerSec) / 200_000).toBeCloseTo(1, 1);
    expect(use.partitionMaintenance).toBeCloseTo(1, 1);
  });
});
