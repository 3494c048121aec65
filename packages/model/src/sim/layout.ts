/**
 * The placement of sessions on instances, and the numbers that identify sessions, group commits and forwarders in all
 * parts of the simulation. All of these are *jobs*: a job waits in at most one place at a time.
 */
import type { ClusterCosts } from './costs.ts';
import type { ModelWorkload } from './workload.ts';

export interface Layout {
  instances: number;
  nodes: number;
  enqueuers: number;
  sessions: number;
  subscribers: number;
  /**
   * Sessions first, enqueuers before dequeuers; then the groups of each instance; then a forwarder for each instance; then
   * the transfers of each block, which are on the instance that handles them at the time.
   */
  jobs: number;
  firstGroup: number;
  groupsPerInstance: number;
  firstForwarder: number;
  firstTransfer: number;
  instanceOf: Int32Array;
  /** Subscriber of each dequeuer; 0 for other jobs. */
  subscriberOf: Int32Array;
  nodeOf: Int32Array;
  /** Dequeuers on each instance. */
  dequeuersOn: Int32Array;
}

/** The most blocks that a global index has. */
const blocksMax = 2;

export function createLayout(costs: ClusterCosts, workload: ModelWorkload): Layout {
  const { instances, enqueuers, dequeuers, subscribers } = workload;
  const sessions = enqueuers + dequeuers;
  const groupsPerInstance = costs.redo.groupsInFlight;
  const firstForwarder = sessions + instances * groupsPerInstance;
  const firstTransfer = firstForwarder + instances;
  const jobs = firstTransfer + blocksMax;
  const instanceOf = new Int32Array(jobs);
  const subscriberOf = new Int32Array(jobs);
  const dequeuersOn = new Int32Array(instances);
  const half = workload.placement === 'separate' ? Math.floor(instances / 2) : instances;
  const dequeuersFrom = workload.placement === 'separate' ? half : 0;
  for (let enqueuer = 0; enqueuer < enqueuers; enqueuer++) instanceOf[enqueuer] = enqueuer % half;
  for (let dequeuer = 0; dequeuer < dequeuers; dequeuer++) {
    const row = Math.floor(dequeuer / subscribers);
    const instance = dequeuersFrom + (row % (instances - dequeuersFrom));
    instanceOf[enqueuers + dequeuer] = instance;
    subscriberOf[enqueuers + dequeuer] = dequeuer % subscribers;
    dequeuersOn[instance] = dequeuersOn[instance]! + 1;
  }
  for (let instance = 0; instance < instances; instance++) {
    instanceOf.fill(
      instance,
      sessions + instance * groupsPerInstance,
      sessions + (instance + 1) * groupsPerInstance,
    );
    instanceOf[firstForwarder + instance] = instance;
  }
  const nodes = Math.min(costs.machine.nodes, instances);
  return {
    instances,
    nodes,
    enqueuers,
    sessions,
    subscribers,
    jobs,
    firstGroup: sessions,
    groupsPerInstance,
    firstForwarder,
    firstTransfer,
    instanceOf,
    subscriberOf,
    nodeOf: instanceOf.map((instance) => instance % nodes),
    dequeuersOn,
  };
}
