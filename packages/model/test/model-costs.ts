/** Costs for tests: a machine on which nothing takes time, and two small machines to simulate. */
import type { ClusterCosts, ModelWorkload } from '@shardlab/model';

type Changes<T> = { [K in keyof T]?: T[K] extends object ? Changes<T[K]> : T[K] };

/** On this machine nothing takes time; a test sets the costs that it is about. */
const free: ClusterCosts = {
  machine: { nodes: 1, coresPerNode: 1, busyCoreSpeed: 1, sliceUs: 0, backgroundCpu: 0 },
  variation: { cpu: 0, redo: 0, network: 0 },
  sessions: {
    oneThread: false,
    roundTripUs: 0,
    timerLateUs: 0,
    clientEnqueueUs: 0,
    clientDequeueUs: 0,
    clientTransactionUs: 0,
  },
  interconnectUs: 0,
  redo: {
    groupsInFlight: 1,
    groupBytesMax: 4 * 1024 ** 2,
    syncUs: 0,
    syncCpuUs: 0,
    usPerKib: 0,
    threadHopUs: 0,
  },
  sharded: {
    callUs: 0,
    enqueueUs: 0,
    dequeueUs: 0,
    transactionUs: 0,
    groupUs: 0,
    writeGroupUs: 0,
    writeEnqueueUs: 0,
    writeConsumptionUs: 0,
    forwardUs: 0,
    forwardBatchMax: 100,
  },
  maintenance: { scope: 'instance', counts: 'messages', operationsPerPartition: 1000, partitionUs: 0 },
  unsharded: {
    callUs: 0,
    enqueueUs: 0,
    dequeueUs: 0,
    transactionUs: 0,
    skipUs: 0,
    blocks: 1,
    enter: { at: 'call', visitUs: 0, entryUs: 0 },
    claim: { visitUs: 0, messageUs: 0 },
    leave: null,
    syncInBlock: false,
    syncUs: 0,
    transferUs: 0,
    visitsPerTurn: 1,
    order: 'arrival',
    transferBy: 'network',
    lookUs: 0,
  },
};

export function costsWith(changes: Changes<ClusterCosts>, base: ClusterCosts = free): ClusterCosts {
  const merge = (whole: object, part: object): object =>
    Object.fromEntries(
      Object.entries(whole).map(([key, value]) => {
        const change = (part as Record<string, unknown>)[key];
        if (change === undefined) return [key, value];
        const inner =
          typeof value === 'object' && value !== null && typeof change === 'object' && change !== null;
        return [key, inner ? merge(value, change) : change];
      }),
    );
  return merge(base, changes) as ClusterCosts;
}

/** A machine that runs this engine: one session thread and one writer thread for each instance, on two cores. */
export const nodeLike = costsWith({
  machine: { coresPerNode: 2, busyCoreSpeed: 0.8, sliceUs: 1500 },
  variation: { cpu: 0.3, redo: 0.5 },
  sessions: { oneThread: true, clientEnqueueUs: 0.5, clientDequeueUs: 0.5 },
  interconnectUs: 50,
  redo: { groupsInFlight: 2, syncUs: 150, usPerKib: 0.3, threadHopUs: 15 },
  sharded: {
    callUs: 1,
    enqueueUs: 0.8,
    dequeueUs: 0.6,
    transactionUs: 4,
    groupUs: 20,
    writeGroupUs: 60,
    writeEnqueueUs: 1,
    writeConsumptionUs: 2,
    forwardUs: 1,
  },
  maintenance: { operationsPerPartition: 32_768, partitionUs: 1500 },
  unsharded: {
    enqueueUs: 0.8,
    transactionUs: 2,
    enter: { at: 'commit', visitUs: 60, entryUs: 6 },
    claim: { visitUs: 40, messageUs: 6 },
    leave: { visitUs: 60, messageUs: 6 },
    syncInBlock: true,
    syncUs: 150,
    transferUs: 60,
    visitsPerTurn: 1000,
    order: 'alternating',
    transferBy: 'process',
    lookUs: 2000,
  },
});

/** A machine like the white paper's: sessions on any of many cores, remote clients, one resource for all partitions. */
export const clusterLike = costsWith({
  machine: { nodes: 8, coresPerNode: 24 },
  variation: { cpu: 0.5, redo: 0.5, network: 0.5 },
  sessions: { roundTripUs: 300 },
  interconnectUs: 300,
  redo: { syncUs: 300 },
  sharded: { callUs: 20, enqueueUs: 20, dequeueUs: 20, transactionUs: 20, writeGroupUs: 20, forwardUs: 20 },
  maintenance: { scope: 'cluster', counts: 'operations', operationsPerPartition: 1, partitionUs: 5 },
  unsharded: {
    callUs: 20,
    enqueueUs: 20,
    dequeueUs: 60,
    transactionUs: 20,
    skipUs: 20,
    blocks: 2,
    enter: { entryUs: 20 },
    claim: { messageUs: 40 },
    transferUs: 300,
  },
});

export function workloadWith(changes: Partial<ModelWorkload> = {}): ModelWorkload {
  return {
    kind: 'sharded',
    instances: 1,
    enqueuers: 4,
    dequeuers: 4,
    subscribers: 1,
    operationsPerTransaction: 10,
    payloadBytes: 512,
    ...changes,
  };
}
