import type { ClusterEvent, ClusterInstance, ClusterLoad, ClusterStreamEvent } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import {
  applyClusterEvent,
  backlogOf,
  type FollowedCluster,
  processPlaces,
} from '../src/model/cluster-state.ts';
import { eventMark, eventSentence, eventTone, processNames } from '../src/model/cluster-words.ts';
import { loadMarks, loadMoments, loadRange } from '../src/model/load-chart-data.ts';
import { loadVerdict } from '../src/model/load-verdict.ts';

const figures = (enqueued: number, consumed: number) => ({
  enqueued,
  consumed,
  commits: 0,
  groups: 0,
  cpuMs: { session: 0, writer: 0 },
  shards: [
    { shard: 100, queue: 'a', backlog: enqueued - consumed, cacheBytes: 0, partitions: [] },
    { shard: 100, queue: 'b', backlog: 1, cacheBytes: 0, partitions: [] },
  ],
  waits: [],
});

/** Instance `id`, whose own process has the pid 100 + id unless it is gone, hosted by that of `host`. */
function instance(
  id: number,
  host: number | null = id,
  change: Partial<ClusterInstance> = {},
): ClusterInstance {
  return {
    instance: id,
    state: host === id ? 'up' : host === null ? 'down' : 'hosted',
    leaving: false,
    process: host === id ? { pid: 100 + id, state: 'running' } : null,
    host: host === null ? null : { pid: 100 + host, instance: host },
    epoch: 1,
    lease: null,
    figures: figures(0, 0),
    ...change,
  };
}

const event = (type: ClusterEvent['type'], change: Partial<ClusterEvent> = {}): ClusterEvent => ({
  type,
  atMs: 0,
  instance: 2,
  pid: 101,
  ...change,
});

const load = (change: Partial<ClusterLoad> = {}): ClusterLoad => ({
  queue: 'q',
  state: 'running',
  startedAtMs: 1_000,
  durationMs: 60_000,
  ratePerSec: 500,
  acknowledged: 0,
  consumed: 0,
  unknown: 0,
  doubled: 0,
  left: null,
  lost: null,
  slowestCommitMs: 0,
  error: null,
  samples: [],
  ...change,
});

const sample = (atMs: number, perSec = 100) => ({
  atMs,
  acknowledgedPerSec: perSec,
  consumedPerSec: perSec / 2,
});

function snapshot(
  instances: ClusterInstance[],
  change: Partial<ClusterStreamEvent> = {},
): ClusterStreamEvent {
  const processes = instances.map(({ instance: id }) => ({
    instance: id,
    pid: 100 + id,
    cpuMs: 1_000,
    rssBytes: 1,
  }));
  const cluster = { placement: 'processes' as const, instances, processes, events: [] };
  return { type: 'snapshot', atMs: 0, figuresAtMs: 0, cluster, load: null, ...change } as ClusterStreamEvent;
}

function tick(
  instances: ClusterInstance[],
  change: Partial<Extract<ClusterStreamEvent, { type: 'tick' }>> = {},
) {
  const processes = instances.map(({ instance: id }) => ({
    instance: id,
    pid: 100 + id,
    cpuMs: 1_250,
    rssBytes: 1,
  }));
  const rest = { placement: 'processes' as const, instances, processes, events: [], load: null };
  return { type: 'tick' as const, atMs: 500, figuresAtMs: 500, ...rest, ...change };
}

const follow = (...events: ClusterStreamEvent[]): FollowedCluster =>
  events.reduce<FollowedCluster | null>(applyClusterEvent, null)!;

describe('the cluster that is followed', () => {
  it('has rates and cores once there are two looks at its counts', () => {
    const first = snapshot([instance(1, 1, { figures: figures(100, 50) })]);
    expect(follow(first).rates.size).toBe(0);
    const followed = follow(first, tick([instance(1, 1, { figures: figures(350, 100) })]));
    expect(followed.rates.get(1)).toEqual({ enqueuePerSec: 500, dequeuePerSec: 100 });
    expect(followed.cores.get(101)).toBe(0.5);
  });

  it('keeps its rates while no new figures come, and has none for an instance that was opened anew', () => {
    const events = [
      snapshot([instance(1, 1, { figures: figures(100, 50) })]),
      tick([instance(1, 1, { figures: figures(350, 100) })]),
      tick([instance(1, 1, { figures: figures(350, 100) })], { atMs: 1_000 }),
    ];
    expect(follow(...events).rates.get(1)?.enqueuePerSec).toBe(500);
    const reopened = tick([instance(1, 1, { figures: figures(3, 3) })], { atMs: 1_500, figuresAtMs: 1_500 });
    expect(follow(...events, reopened).rates.get(1)).toBeUndefined();
  });

  it('gathers events, the newest 200, and the samples of one load; a snapshot begins anew', () => {
    const told = Array.from({ length: 150 }, (_, atMs) => event('process:started', { atMs }));
    const followed = follow(
      snapshot([], { load: load({ samples: [sample(250)] }) }),
      tick([], { events: told, load: load({ samples: [sample(500)] }) }),
      tick([], { events: told, load: load({ samples: [sample(750), sample(1_000)] }) }),
    );
    expect(followed.cluster.events).toHaveLength(200);
    expect(followed.load?.samples.map(({ atMs }) => atMs)).toEqual([250, 500, 750, 1_000]);
    const another = applyClusterEvent(
      followed,
      tick([], { load: load({ startedAtMs: 9, samples: [sample(1)] }) }),
    );
    expect(another.load?.samples.map(({ atMs }) => atMs)).toEqual([1]);
    expect(applyClusterEvent(followed, snapshot([])).load).toBeNull();
  });

  it('sums the backlog of an instance over all its queues', () => {
    expect(backlogOf(instance(1, 1, { figures: figures(10, 4) }))).toBe(7);
    expect(backlogOf(instance(1, 1, { figures: null }))).toBe(0);
  });
});

describe('the places of processes', () => {
  const placesOf = (...instances: ClusterInstance[]) =>
    processPlaces(follow(snapshot(instances)).cluster).map(({ hosted }) =>
      hosted.map((each) => each.instance),
    );

  it('show each instance with the process that hosts it, its own first', () => {
    expect(placesOf(instance(1), instance(2), instance(3))).toEqual([[1], [2], [3]]);
    expect(placesOf(instance(1, 3), instance(2), instance(3))).toEqual([[], [2], [3, 1]]);
  });

  it('show an instance that nobody hosts in its own place', () => {
    expect(placesOf(instance(1), instance(2, null))).toEqual([[1], [2]]);
    // The catalog still names the process that was killed.
    const orphan = instance(2, null, { host: { pid: 4711, instance: 2 } });
    expect(placesOf(instance(1), orphan)).toEqual([[1], [2]]);
  });
});

describe('what happens', () => {
  const instances = [instance(1), instance(2, 1)];
  const names = processNames([event('process:started', { pid: 102 })], instances);
  const words = (each: ClusterEvent) => eventSentence(each, names).replaceAll('\u202f', ' ');

  it.each<[string, ClusterEvent]>([
    [
      'Lease on instance 2 taken by the process of instance 1, as its guest: epoch 4, open after 85 ms.',
      event('lease:taken', { role: 'guest', epoch: 4, tookMs: 85 }),
    ],
    [
      'Lease on instance 2 taken by its own process 102: epoch 5, open after 1.2 s.',
      event('lease:taken', { role: 'home', pid: 102, epoch: 5, tookMs: 1_200 }),
    ],
    [
      'Instance 2 taken over by the process of instance 1, which ended the process of instance 2 first: served again 590 ms after it was missed.',
      event('instance:taken-over', { fromPid: 102, killed: true, tookMs: 590 }),
    ],
    [
      'Instance 2 given back to its own process 103: free after 25 ms.',
      event('instance:given-back', { toPid: 103, tookMs: 25 }),
    ],
    ['Instance 2 fenced in process 999: another process has it.', event('instance:fenced', { pid: 999 })],
    [
      'Instance 2 failed in the process of instance 1: The disk is full (STORAGE_FULL).',
      event('instance:failed', { code: 'STORAGE_FULL', message: 'The disk is full' }),
    ],
    ['Process 102 of instance 2 killed by SIGKILL.', event('process:ended', { pid: 102, signal: 'SIGKILL' })],
    ['Process 102 of instance 2 ended in order.', event('process:ended', { pid: 102, exitCode: 0 })],
    ['Process 102 of instance 2 ended with code 1.', event('process:ended', { pid: 102, exitCode: 1 })],
  ])('%s', (sentence, each) => {
    expect(words(each)).toBe(sentence);
  });

  it('has a sentence and a tone for every type', () => {
    const types: ClusterEvent['type'][] = [
      'lease:taken',
      'instance:taken-over',
      'instance:given-back',
      'instance:released',
      'instance:fenced',
      'instance:failed',
      'takeover:blocked',
      'instance:added',
      'instance:removed',
      'instance:forgotten',
      'process:started',
      'process:ended',
      'process:paused',
      'process:resumed',
    ];
    for (const type of types) {
      expect(words(event(type))).toMatch(/^[A-Z].*\.$/);
      expect(['good', 'bad', 'live', 'quiet']).toContain(eventTone(event(type)));
    }
  });

  it('tells a kill from an orderly end', () => {
    expect(eventMark(event('process:ended', { signal: 'SIGKILL' }))).toBe('2 killed');
    expect(eventMark(event('process:ended', { exitCode: 0 }))).toBe('2 stopped');
    expect(eventMark(event('lease:taken'))).toBeNull();
  });
});

describe('a load over time', () => {
  it('has two lines, and room for its first seconds', () => {
    const run = load({ samples: [sample(250, 400), sample(500, 800)] });
    expect(loadRange(run)).toEqual({ fromMs: 0, toMs: 15_000 });
    expect(loadRange(load({ samples: [sample(40_000)] })).toMs).toBe(40_000);
    expect(loadRange({ ...run, state: 'done' }).toMs).toBe(1_000);
    const { lines, max } = loadMarks(run);
    expect(lines.map(({ id, points }) => [id, points.at(-1)!.value])).toEqual([
      ['acknowledged', 800],
      ['consumed', 400],
    ]);
    expect(max).toBe(800);
  });

  it('marks what happened within it, on its own clock', () => {
    const events = [
      event('process:ended', { atMs: 900, signal: 'SIGKILL' }),
      event('process:ended', { atMs: 3_500, signal: 'SIGKILL' }),
      event('lease:taken', { atMs: 3_800 }),
      event('instance:taken-over', { atMs: 3_900 }),
      event('instance:added', { atMs: 99_000 }),
    ];
    expect(loadMoments(load(), events)).toEqual([
      { atMs: 2_500, label: '2 killed' },
      { atMs: 2_900, label: '2 taken over' },
    ]);
  });

  it.each<[string | null, Partial<ClusterLoad>]>([
    [null, { state: 'draining' }],
    ['Nothing lost, nothing doubled: 1,200 messages acknowledged, 1,200 consumed.', { lost: 0, left: 0 }],
    ['2 lost, 1 doubled: 1,200 messages acknowledged, 1,200 consumed.', { lost: 2, doubled: 1, left: 0 }],
    [
      'Nothing lost, nothing doubled, 7 left in the queue: 1,200 messages acknowledged, 1,200 consumed.',
      { lost: 0, left: 7 },
    ],
    [
      'Nothing lost, nothing doubled: 1,200 messages acknowledged, 1,200 consumed; of 5 more the outcome could not be learnt.',
      { lost: 0, left: 0, unknown: 5 },
    ],
    [
      'An instance is not served, so what it holds is not known: 1,200 messages acknowledged, 1,200 consumed.',
      { lost: null, left: 3 },
    ],
  ])('in a sentence: %s', (sentence, change) => {
    expect(loadVerdict(load({ state: 'done', acknowledged: 1_200, consumed: 1_200, ...change }))).toBe(
      sentence,
    );
  });
});
