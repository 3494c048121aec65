/**
 * The costs of a cluster's work as plain numbers: everything the simulation knows about a machine and the system on it.
 * Resolved from a hardware file (`resolve-hardware.ts`). Times are microseconds; CPU times are those of a core that is
 * busy alone.
 */
export interface ClusterCosts {
  machine: {
    /** Nodes of the cluster; instance `i` runs on node `i mod nodes`. */
    nodes: number;
    coresPerNode: number;
    /** Speed of a core while all cores of its node are busy, against one busy alone: under 1 where they share units. */
    busyCoreSpeed: number;
    /** The operating system's time slice: how long a thread with work keeps its core while others wait; 0: for one burst. */
    sliceUs: number;
    /** CPU of an instance's other threads (garbage collection) for each µs of its own work; it competes for cores too. */
    backgroundCpu: number;
  };
  /** Coefficients of variation of durations: 0 always the mean, 1 exponential. */
  variation: { cpu: number; redo: number; network: number };
  sessions: {
    /** Whether the sessions of an instance take turns on one thread, as in Node, or run on any core. */
    oneThread: boolean;
    /** A client's round trip before each call; 0: the client is embedded and makes one call for a transaction's operations. */
    roundTripUs: number;
    /** How late the timer of an emulated round trip fires; 0 for real round trips. */
    timerLateUs: number;
    /** Cost of the client's own code if it runs inside the instance; 0 for other clients. */
    clientEnqueueUs: number;
    clientDequeueUs: number;
    clientTransactionUs: number;
  };
  /** One way between two instances: a forwarded batch, or a block of the global index. */
  interconnectUs: number;
  redo: {
    /** Groups handed to the writer and not acknowledged. */
    groupsInFlight: number;
    groupBytesMax: number;
    /** Time of a sync that needs no core and that syncs of other instances may overlap; and its CPU before. */
    syncUs: number;
    syncCpuUs: number;
    /** Time that a KiB occupies the node's device, where instances queue. */
    usPerKib: number;
    /** Time from one thread of an instance to the other. */
    threadHopUs: number;
  };
  sharded: {
    /** Session side. */
    callUs: number;
    enqueueUs: number;
    dequeueUs: number;
    transactionUs: number;
    groupUs: number;
    /** Writer side. */
    writeGroupUs: number;
    writeEnqueueUs: number;
    /** Cost for each subscriber of whom transactions of a group consumed; a queue has one. */
    writeConsumptionUs: number;
    /** A forwarded message costs its owner this, and its receiver as much as an enqueue. */
    forwardUs: number;
    forwardBatchMax: number;
  };
  maintenance: {
    /** `instance`: in the group commit that empties a partition; `cluster`: all instances queue for one resource. */
    scope: 'instance' | 'cluster';
    /** What counts towards a full partition: each message once, or each enqueue and each subscriber's dequeue. */
    counts: 'messages' | 'operations';
    operationsPerPartition: number;
    /** Creating, assigning and truncating one partition. */
    partitionUs: number;
  };
  unsharded: {
    /** Session side, outside the blocks. */
    callUs: number;
    enqueueUs: number;
    dequeueUs: number;
    transactionUs: number;
    /** Cost for each message held by another session of the subscriber, which a dequeue skips. */
    skipUs: number;
    /** Blocks of the global index that are changed in turn: one for all, or one at each end. */
    blocks: 1 | 2;
    /** Cost of an enqueue's changes there, at its call or at the commit; `entryUs` is for each message and subscriber. */
    enter: { at: 'call' | 'commit'; visitUs: number; entryUs: number };
    /** Cost of the changes of a dequeue call there. */
    claim: { visitUs: number; messageUs: number };
    /** Cost of the changes of a dequeuer's commit there; null if its calls make all changes. */
    leave: { visitUs: number; messageUs: number } | null;
    /** Whether a commit syncs on its own while it holds the block, or joins the instance's group commit. */
    syncInBlock: boolean;
    /** Such a sync. */
    syncUs: number;
    /** Time from one instance to another. */
    transferUs: number;
    /** Visits by one instance before the block moves to another that waits; later ones wait for its return. */
    visitsPerTurn: number;
    /** Sessions of an instance visit a block as they come; or a turn of all waiting deliveries and one of all waiting commits alternate. */
    order: 'arrival' | 'alternating';
    /** A transfer takes time on the network; or CPU of each process that handles a message about it: that which serves the lock, and the next holder. */
    transferBy: 'network' | 'process';
    /** Maximum time until a waiting dequeuer of another instance sees a new message. */
    lookUs: number;
  };
}
