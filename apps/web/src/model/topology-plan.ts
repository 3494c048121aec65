/** The topology that the largest point of a scenario would have, before anything runs. */
import { type ParamValue, type PlacedThreads, type Tick, threadsByInstance } from '@shardlab/contract';
import { plural } from './format.ts';
import { type JsonObject, valueAt } from './scenario-draft.ts';
import { layoutTopology, type TopologyLayout } from './topology-layout.ts';

export interface PlannedTopology {
  system: string;
  instances: number;
  /** Sessions over all instances. */
  enqueuers: number;
  dequeuers: number;
  placement: NonNullable<PlacedThreads['placement']>;
  shardsPerInstance: number;
}

/** The largest value of a parameter; undefined if the draft does not give a number. */
function largest(draft: JsonObject, name: string): number | undefined {
  const given = valueAt(draft, ['sweep', name]) ?? valueAt(draft, ['parameters', name]);
  const numbers = (Array.isArray(given) ? given : [given]).filter(
    (each: ParamValue): each is number => typeof each === 'number' && Number.isInteger(each) && each > 0,
  );
  return numbers.length === 0 ? undefined : Math.max(...numbers);
}

/** Drawn at most: a draft may have any number while it is typed. */
const instancesMax = 16;

/** Null where the program has no instances and threads. */
export function plannedTopology(draft: JsonObject, system: string): PlannedTopology | null {
  const [instances, threads] = [largest(draft, 'instances'), largest(draft, 'threads')];
  if (instances === undefined || threads === undefined) return null;
  const subscribers = largest(draft, 'subscribers') ?? 1;
  return {
    system,
    instances: Math.min(instancesMax, instances),
    enqueuers: threads,
    dequeuers: threads * subscribers,
    placement: isSkewed(draft) ? 'skewed' : 'even',
    shardsPerInstance: Math.min(instancesMax, largest(draft, 'shardsPerInstance') ?? 1),
  };
}

/** The systems of the draft, as far as they are names. */
export const systemsOf = (draft: JsonObject): string[] =>
  Array.isArray(draft.systems)
    ? draft.systems.filter((each): each is string => typeof each === 'string')
    : [];

/** Whether the draft has no other placement than that. */
const isSkewed = (draft: JsonObject) =>
  [valueAt(draft, ['sweep', 'placement']) ?? valueAt(draft, ['parameters', 'placement'])]
    .flat()
    .every((each) => each === 'skewed');

export function layoutPlan(plan: PlannedTopology, width: number): TopologyLayout {
  const { system, instances, enqueuers, dequeuers, placement, shardsPerInstance } = plan;
  const threads = threadsByInstance({ threads: enqueuers, instances, placement });
  const tick: Tick = {
    atMs: 0,
    trial: 0,
    program: 'queue',
    system,
    params: {},
    phase: 'warmup',
    instances: Array.from({ length: instances }, (_, index) => ({
      instance: index + 1,
      spanMs: 250,
      enqueuePerSec: 0,
      dequeuePerSec: 0,
      cpu: 0,
      latencyMs: { p50: 0, p99: 0 },
      waitMsByClass: {},
      shards: Array.from({ length: shardsPerInstance }, (_, shard) => ({
        shard,
        backlog: 0,
        partitions: [{ partition: 0, state: 'empty', fill: 0, drained: 0 }],
      })),
    })),
  };
  const layout = layoutTopology(tick, { width, cores: 1, rateMax: 1, backlogMax: 1 });
  const cards = layout.cards.map((card, index) => ({
    ...card,
    cpuBar: 0,
    shards: card.shards.map((shard) => ({ ...shard, backlog: null })),
    words: {
      cpu: '',
      in: `${plural(threads[index]!, 'enqueuer')}`,
      out: `${plural((threads[index]! * dequeuers) / enqueuers, 'dequeuer')}`,
    },
  }));
  return { ...layout, cards };
}

/** "4 instances, 16 enqueuers and 16 dequeuers" */
export const planInWords = ({ instances, enqueuers, dequeuers }: PlannedTopology): string =>
  `${plural(instances, 'instance')}, ${plural(enqueuers, 'enqueuer')} and ${plural(dequeuers, 'dequeuer')}`;
