/** The limit of a simulated rate in words, and costs without one of these limits. */
import { bottleneckOf, type ClusterCosts, type ResourceUse, type StateName } from '@shardlab/model';

/** A resource that may be busy, or the way to the client, on which sessions wait while no resource is. */
export type Limit = keyof ResourceUse | 'roundTrips';

export const limitNames: Readonly<Record<Limit, string>> = {
  cores: 'the cores',
  sessionThread: 'a session thread',
  writerThread: 'a writer thread and its syncs',
  redoDevice: 'the disk',
  partitionMaintenance: 'partition maintenance',
  indexBlock: 'the shared index block',
  roundTrips: 'round trips to the client',
};

/** Labels of the switches that remove a limit from the simulation. */
export const removals: Readonly<Record<Limit, string>> = {
  cores: 'as many cores as can be used',
  sessionThread: 'sessions run on any core',
  writerThread: 'its work and its syncs take no time',
  redoDevice: 'writes and syncs take no time',
  partitionMaintenance: 'partitions cost nothing',
  indexBlock: 'no visit to the index waits for another',
  roundTrips: 'clients in the process of the instance',
};

export const limits = Object.keys(limitNames) as Limit[];

export const isLimit = (text: string): text is Limit => Object.hasOwn(limitNames, text);

/** Cores of a node whose number limits nothing: more than there are sessions. */
const coresWithoutLimit = 8_192;

/** The costs without these limits. The time that sessions spend on round trips is theirs, or that of the workload. */
export function withoutLimits(costs: ClusterCosts, without: readonly Limit[]): ClusterCosts {
  const changed = structuredClone(costs);
  const { machine, sessions, sharded, redo, maintenance, unsharded } = changed;
  for (const limit of without) {
    if (limit === 'cores') {
      machine.coresPerNode = coresWithoutLimit;
      machine.busyCoreSpeed = 1;
    } else if (limit === 'sessionThread') sessions.oneThread = false;
    else if (limit === 'writerThread') {
      Object.assign(sharded, { writeGroupUs: 0, writeEnqueueUs: 0, writeConsumptionUs: 0 });
      Object.assign(redo, { syncUs: 0, syncCpuUs: 0 });
    } else if (limit === 'redoDevice') {
      Object.assign(redo, { syncUs: 0, usPerKib: 0 });
      unsharded.syncUs = 0;
    } else if (limit === 'partitionMaintenance') maintenance.partitionUs = 0;
    else if (limit === 'roundTrips') sessions.roundTripUs = 0;
    else {
      Object.assign(unsharded.enter, { visitUs: 0, entryUs: 0 });
      Object.assign(unsharded.claim, { visitUs: 0, messageUs: 0 });
      if (unsharded.leave !== null) Object.assign(unsharded.leave, { visitUs: 0, messageUs: 0 });
      Object.assign(unsharded, { syncInBlock: false, transferUs: 0, lookUs: 0 });
    }
  }
  return changed;
}

export interface LimitedBy {
  /** Null where there is nothing to take away: sessions wait for each other's messages, or for a core that has no work. */
  limit: Limit | null;
  /** "the disk, 93 % busy" */
  words: string;
}

const waitLimits: Partial<Record<StateName, Limit>> = {
  'client round trip': 'roundTrips',
  'log file sync': 'redoDevice',
  'partition maintenance': 'partitionMaintenance',
  'buffer busy': 'indexBlock',
  'global cache': 'indexBlock',
};

/** The busiest resource; where none is busy half of the time, what the sessions spend most of their time on. */
export function limitedBy(use: ResourceUse, timeShare: Readonly<Record<StateName, number>>): LimitedBy {
  const busiest = bottleneckOf(use);
  if (busiest !== null)
    return {
      limit: busiest.resource,
      words: `${limitNames[busiest.resource]}, ${percent(busiest.share)} busy`,
    };
  const [state, share] = (Object.entries(timeShare) as [StateName, number][])
    .filter(([name]) => name !== 'running')
    .sort((a, b) => b[1] - a[1])[0]!;
  const limit = waitLimits[state] ?? null;
  const what = limit === null ? state : limit === 'redoDevice' ? 'syncs of the disk' : limitNames[limit];
  return { limit, words: `${what}: ${percent(share)} of the sessions’ time; no resource is busy half of it` };
}

const percent = (share: number) => `${Math.round(share * 100)} %`;
