/** Ratios of the run's medians, and what each is to reach. A ratio that was not measured is null, with its reason. */
export interface Ratio {
  value: number | null;
  reason: string;
}

export interface Target {
  name: string;
  target: number;
  value: number | null;
  met: boolean;
  reason: string;
}

/** Medians of a run by name; rates in messages or rows a second, CPU in microseconds a message. */
export interface Medians {
  /** The best rate of inserts at 1,000 a transaction, over both page sizes: R. */
  rawInsert: number;
  rawCycle: Record<number, number>;
  dequeuePerSec: Record<string, number>;
  cpuUsPerMessage: Record<string, number>;
}

const over = (name: string, value: number | undefined, base: number, of: string): Ratio =>
  value === undefined || !(base > 0)
    ? { value: null, reason: `${name} was not measured` }
    : {
        value: value / base,
        reason: `${Math.round(value).toLocaleString('en')} over ${of} ${Math.round(base).toLocaleString('en')}`,
      };

const unmeasured = (what: string): Ratio => ({
  value: null,
  reason: `${what}: not measured by this bench yet`,
});

export function ratiosOf({
  rawInsert,
  rawCycle,
  dequeuePerSec,
  cpuUsPerMessage,
}: Medians): Record<string, Ratio> {
  const ofR = (name: string) => over(name, dequeuePerSec[name], rawInsert, 'R =');
  const cycle = (name: string, operations: number) =>
    over(name, dequeuePerSec[name], rawCycle[operations] ?? 0, 'the raw cycle at equal batch,');
  const [ten, thousand] = [cycle('unsharded10', 10), cycle('unsharded1000', 1_000)];
  return {
    queue10: ofR('queue10'),
    queue1000: ofR('queue1000'),
    queue1x32: ofR('queue1x32'),
    single1: unmeasured('enqueue only with one session'),
    topic10: unmeasured('topics'),
    cpuUnshardedOverSharded: over(
      'CPU a message',
      cpuUsPerMessage.unsharded10,
      cpuUsPerMessage['queue10 on one instance'] ?? 0,
      'µs sharded,',
    ),
    unshardedOverRawCycle: (ten.value ?? Infinity) < (thousand.value ?? Infinity) ? ten : thousand,
    unshardedOverBestSqlitePeer: unmeasured('other queues'),
    overBestSyncedPeer: unmeasured('other queues'),
    overBestPeer: unmeasured('other queues'),
    backlog: unmeasured('a backlog of 10 million'),
  };
}

const wanted: Record<string, number> = {
  queue10: 0.6,
  queue1000: 0.8,
  queue1x32: 0.22,
  single1: 0.5,
  topic10: 3,
  cpuUnshardedOverSharded: 4,
  unshardedOverRawCycle: 0.7,
  unshardedOverBestSqlitePeer: 1,
  overBestSyncedPeer: 5,
  overBestPeer: 2,
  backlog: 0.8,
};

export function targetsOf(ratios: Record<string, Ratio>): Target[] {
  return Object.entries(wanted).map(([name, target]) => {
    const { value, reason } = ratios[name]!;
    return { name, target, value, met: value !== null && value >= target, reason };
  });
}
