/** The instances' samples of holders and waiters, by the names of their sessions, as stored in a point. */
import { type EventHolders, eventHoldersLimits } from '@shardlab/contract';
import { type HolderSamples, waitEvents } from '@shardlab/engine';

/** The samples of one process about its instance. */
export interface InstanceHolders {
  instance: number;
  /** Names of its sessions, by number. */
  names: Record<number, string>;
  series: HolderSamples[];
}

/** One event of one instance. */
interface InstanceSeries extends Omit<InstanceHolders, 'series'> {
  series: HolderSamples;
}

const { sessionsMax } = eventHoldersLimits;

/** Present if a session waited for a resource that another held. Events of cluster-wide resources are merged over the instances. */
export function holdersIn(reports: readonly InstanceHolders[]): { holders?: EventHolders[] } {
  const all = reports.flatMap(({ series, ...of }) => series.map((each) => ({ ...of, series: each })));
  const holders = [...Map.groupBy(all, ({ series: { event } }) => event)]
    .flatMap(([event, of]) =>
      isOfCluster(event) ? [merge(of, null)] : of.map((one) => merge([one], one.instance)),
    )
    .filter(({ samples }) => samples.some(({ holder, waiters }) => holder !== null && waiters > 0));
  return holders.length === 0 ? {} : { holders };
}

const isOfCluster = (event: string): boolean =>
  waitEvents().find(({ name }) => name === event)?.oneHolderIn === 'cluster';

/** The processes sample at the same times of their common clock, so that samples with the same index are of one moment. */
function merge(of: readonly InstanceSeries[], instance: number | null): EventHolders {
  const { event, everyMs } = of[0]!.series;
  const sessions = sessionsIn(of);
  const indexes = new Map(sessions.map((name, index) => [name, index]));
  const count = Math.max(...of.map(({ series }) => series.samples.length));
  return {
    event,
    instance,
    everyMs,
    sessions,
    samples: Array.from({ length: count }, (_, index) => {
      const parts = of.flatMap((one) => {
        const sample = one.series.samples[index];
        return sample === undefined ? [] : [{ one, sample }];
      });
      // One at most, unless a process lost its core before it noted the end of its hold: then the sample shows both.
      const holders = parts
        .flatMap(({ one, sample: { holder } }) => {
          if (holder === null) return [];
          return [typeof holder === 'string' ? holder : nameOf(one, holder)];
        })
        .join(' and ');
      const waiting = new Set(
        parts.flatMap(({ one, sample }) => sample.waiting.map((number) => nameOf(one, number))),
      );
      return {
        holder: holders === '' ? null : (indexes.get(holders) ?? holders),
        waiters: parts.reduce((sum, { sample }) => sum + sample.waiters, 0),
        waiting: sessions.map((name) => (waiting.has(name) ? '1' : '0')).join(''),
      };
    }),
    holds: of.reduce((sum, { series }) => sum + series.holds, 0),
    heldMs: Number(of.reduce((sum, { series }) => sum + series.heldMs, 0).toFixed(3)),
  };
}

/** Names of the sessions that hold or wait in a sample, those that do so most often, in the order of instances and sessions. */
function sessionsIn(of: readonly InstanceSeries[]): string[] {
  const seen = new Map<string, { order: number; samples: number }>();
  const see = (one: InstanceSeries, number: number) => {
    const name = nameOf(one, number);
    const known = seen.get(name) ?? { order: one.instance * sessionNumbersMax + number, samples: 0 };
    seen.set(name, { ...known, samples: known.samples + 1 });
  };
  for (const one of of)
    for (const { holder, waiting } of one.series.samples) {
      if (typeof holder === 'number') see(one, holder);
      for (const number of waiting) see(one, number);
    }
  return [...seen]
    .toSorted(([, a], [, b]) => b.samples - a.samples)
    .slice(0, sessionsMax)
    .toSorted(([, a], [, b]) => a.order - b.order)
    .map(([name]) => name);
}

/** More than an instance can have, to sort by instance first. */
const sessionNumbersMax = 1e9;

const nameOf = ({ instance, names }: InstanceSeries, session: number): string =>
  names[session] ?? `session ${instance}.${session}`;
