/** The workload of a simulated cluster: closed loops, as in the lab's trials. */
export interface ModelWorkload {
  kind: 'sharded' | 'unsharded';
  instances: number;
  /** Enqueuer `e` runs on instance `e mod instances`. */
  enqueuers: number;
  /** Over all subscribers; dequeuer `d` serves subscriber `d mod subscribers` on instance `floor(d / subscribers) mod instances`. */
  dequeuers: number;
  /** 1 for a queue. */
  subscribers: number;
  operationsPerTransaction: number;
  payloadBytes: number;
  /** Replaces the hardware's round trip. */
  roundTripUs?: number;
  /** Enqueuers pause while more than this many messages of their instance wait; default without bound. */
  backlogMax?: number;
  /** Default durable: a sync before a commit is acknowledged. */
  durability?: 'durable' | 'relaxed' | 'memory';
  /** `separate`: enqueuers on the first half of the instances, dequeuers on the others, so messages are forwarded. */
  placement?: 'even' | 'separate';
}

/** Beyond these limits a simulation would take too much memory or time for a browser. */
export const workloadLimits = {
  instancesMax: 4_096,
  sessionsMax: 200_000,
  subscribersMax: 1_024,
  operationsPerTransactionMax: 10_000,
} as const;

/** Throws a RangeError that names the first field out of its range. */
export function assertWorkload(workload: ModelWorkload): void {
  const { instances, enqueuers, dequeuers, subscribers, operationsPerTransaction, payloadBytes } = workload;
  const limit = workloadLimits;
  assertWhole('instances', instances, 1, limit.instancesMax);
  assertWhole('enqueuers', enqueuers, 0, limit.sessionsMax);
  assertWhole('dequeuers', dequeuers, 0, limit.sessionsMax);
  assertWhole('enqueuers + dequeuers', enqueuers + dequeuers, 1, limit.sessionsMax);
  assertWhole('subscribers', subscribers, 1, limit.subscribersMax);
  assertWhole('operationsPerTransaction', operationsPerTransaction, 1, limit.operationsPerTransactionMax);
  assertWhole('payloadBytes', payloadBytes, 0, Number.MAX_SAFE_INTEGER);
  if (
    workload.placement === 'separate' &&
    (instances < 2 || subscribers > 1 || workload.kind === 'unsharded')
  ) {
    throw new RangeError(
      'Placement "separate" requires a sharded queue with one subscriber on at least two instances',
    );
  }
}

function assertWhole(name: string, value: number, low: number, high: number): void {
  if (Number.isInteger(value) && value >= low && value <= high) return;
  throw new RangeError(`${name} must be an integer from ${low} to ${high}, not ${value}`);
}
