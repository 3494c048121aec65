import type { ClusterEvent, ClusterInstance, ClusterLoad, ClusterStreamEvent } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { eventLabel, eventSentence, eventTone, processNames } from '../src/model/cluster-event-text.ts';
import {
  applyClusterEvent,
  backlogOf,
  type FollowedCluster,
  instanceProcesses,
} from '../src/model/cluster-state.ts';
import { loadAnnotations, loadMarks, loadRange } from '../src/model/load-chart-data.ts';
import { loadVerdict } from '../src/model/load-verdict.ts';

const metrics = (enqueued: number, consumed: number) => ({
  enqueued,
  consumed,
  commits: 0,
  groups: 0,
  syncs: 0,
  logBytes: 0,
  cpuMs: { session: 0, writer: 0 },
  shards: [
    { shard: 100, queue: 'a', backlog: enqueued - consumed, cacheBytes: 0, partitions: [] },
    { shard: 100, queue: 'b', backlog: 1, cacheBytes: 0, partitions: [] },
  ],
  waits: [],
  counters: {},
  scrub: { completed: 0, lastCompletedAtMs: null, findings: [] },
});

/** The instance `id`, hosted by the process of instance `host`. The process of instance n has the pid 100 + n. */
function instance(
  id: number,
  host: number | null = id,
  change: Partial<ClusterInstance> = {},
): ClusterInstance {
  return {
    instance: id,
    state: host === id ? 'up' : host === null ? 'down' : 'failed-over',
    leaving: false,
    process: host === id ? { pid: 100 + id, state: 'running' } : null,
    restart: null,
    unready: null,
    host: host === null ? null : { pid: 100 + host, instance: host, unresponsiveMs: null },
    epoch: 1,
    lease: null,
    metrics: metrics(0, 0),
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
  outcomeUnknown: 0,
  duplicated: 0,
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
    logBytes: 0,
    cpuMs: 1_000,
    rssBytes: 1,
  }));
  const cluster = { placement: 'processes' as const, instances, processes, events: [] };
  return { type: 'snapshot', atMs: 0, metricsAtMs: 0, cluster, load: null, ...change } as ClusterStreamEvent;
}

function tick(
  instances: ClusterInstance[],
  change: Partial<Extract<ClusterStreamEvent, { type: 'tick' }>> = {},
) {
  const processes = instances.map(({ instance: id }) => ({
    instance: id,
    pid: 100 + id,
    logBytes: 0,
    cpuMs: 1_250,
    rssBytes: 1,
  }));
  const rest = { placement: 'processes' as const, instances, processes, events: [], load: null };
  return { type: 'tick' as const, atMs: 500, metricsAtMs: 500, ...rest, ...change };
}

const follow = (...events: ClusterStreamEvent[]): FollowedCluster =>
  events.reduce<FollowedCluster | null>(applyClusterEvent, null)!;

describe('a followed cluster', () => {
  it('has rates and CPU usage after the second reading', () => {
    const first = snapshot([instance(1, 1, { metrics: metrics(100, 50) })]);
    expect(follow(first).rates.size).toBe(0);
    const followed = follow(first, tick([instance(1, 1, { metrics: metrics(350, 100) })]));
    expect(followed.rates.get(1)).toEqual({ enqueuePerSec: 500, dequeuePerSec: 100 });
    expect(followed.cores.get(101)).toBe(0.5);
  });

  it('keeps its rates until the next reading, and has none for an instance that was reopened', () => {
    const events = [
      snapshot([instance(1, 1, { metrics: metrics(100, 50) })]),
      tick([instance(1, 1, { metrics: metrics(350, 100) })]),
      tick([instance(1, 1, { metrics: metrics(350, 100) })], { atMs: 1_000 }),
    ];
    expect(follow(...events).rates.get(1)?.enqueuePerSec).toBe(500);
    const reopened = tick([instance(1, 1, { metrics: metrics(3, 3) })], { atMs: 1_500, metricsAtMs: 1_500 });
    expect(follow(...events, reopened).rates.get(1)).toBeUndefined();
  });

  it('collects the newest 200 events and the samples of the current load; a snapshot starts over', () => {
    const started = Array.from({ length: 150 }, (_, atMs) => event('process:started', { atMs }));
    const followed = follow(
      snapshot([], { load: load({ samples: [sample(250)] }) }),
      tick([], { events: started, load: load({ samples: [sample(500)] }) }),
      tick([], { events: started, load: load({ samples: [sample(750), sample(1_000)] }) }),
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
    expect(backlogOf(instance(1, 1, { metrics: metrics(10, 4) }))).toBe(7);
    expect(backlogOf(instance(1, 1, { metrics: null }))).toBe(0);
  });
});

describe('the processes of instances', () => {
  const hostedBy = (...instances: ClusterInstance[]) =>
    instanceProcesses(follow(snapshot(instances)).cluster).map(({ hosted }) =>
      hosted.map((hostedInstance) => hostedInstance.instance),
    );

  it('list the hosted instances, their own first', () => {
    expect(hostedBy(instance(1), instance(2), instance(3))).toEqual([[1], [2], [3]]);
    expect(hostedBy(instance(1, 3), instance(2), instance(3))).toEqual([[], [2], [3, 1]]);
  });

  it('list an instance without a host under its own process', () => {
    expect(hostedBy(instance(1), instance(2, null))).toEqual([[1], [2]]);
    // The catalog still names the killed process.
    const orphan = instance(2, null, { host: { pid: 4711, instance: 2, unresponsiveMs: null } });
    expect(hostedBy(instance(1), orphan)).toEqual([[1], [2]]);
  });
});

describe('a cluster event', () => {
  const instances = [instance(1), instance(2, 1)];
  const names = processNames([event('process:started', { pid: 102 })], instances);
  const sentenceOf = (clusterEvent: ClusterEvent) =>
    eventSentence(clusterEvent, names).replaceAll('\u202f', ' ');

  it.each<[string, ClusterEvent]>([
    [
      'Lease on instance 2 acquired by the process of instance 1 for failover: epoch 4, open after 85 ms.',
      event('lease:acquired', { role: 'failover', epoch: 4, tookMs: 85 }),
    ],
    [
      'Lease on instance 2 acquired by its own process 102: epoch 5, open after 1.2 s.',
      event('lease:acquired', { role: 'owner', pid: 102, epoch: 5, tookMs: 1_200 }),
    ],
    [
      'Instance 2 taken over by the process of instance 1 after a failure (its process had been stopped by a signal), which first killed the process of instance 2: available again 590 ms after it was detected.',
      event('instance:taken-over', {
        fromPid: 102,
        killed: true,
        tookMs: 590,
        message: 'its process had been stopped by a signal',
      }),
    ],
    [
      'Instance 2 moved to the process of instance 1, because its own process was stopped: available again after 90 ms.',
      event('instance:moved', { tookMs: 90 }),
    ],
    [
      'Process 102 of instance 2 is slow: no turn of its event loop for 1.2 s.',
      event('process:slow', { pid: 102, tookMs: 1_200 }),
    ],
    [
      'Process 102 of instance 2 is responsive again; it was slow for up to 4.5 s.',
      event('process:responsive', { pid: 102, tookMs: 4_500 }),
    ],
    [
      'Instance 2 returned to its own process 103: released after 25 ms.',
      event('instance:returned', { toPid: 103, tookMs: 25 }),
    ],
    [
      'Instance 2 fenced in process 999: another process holds its lease now.',
      event('instance:fenced', { pid: 999 }),
    ],
    [
      'Instance 2 failed in the process of instance 1: The disk is full (STORAGE_FULL).',
      event('instance:failed', { code: 'STORAGE_FULL', message: 'The disk is full' }),
    ],
    [
      'Instance 2 cannot be served by the process of instance 1 and will be taken over: It does not answer (WRITER_SILENT).',
      event('instance:unhealthy', { code: 'WRITER_SILENT', message: 'It does not answer' }),
    ],
    [
      'The process of instance 2 exited unexpectedly and restarts now: The process was ended by SIGKILL (PROCESS_NOT_RUNNING).',
      event('process:restarting', {
        inMs: 0,
        attempts: 0,
        code: 'PROCESS_NOT_RUNNING',
        message: 'The process was ended by SIGKILL',
      }),
    ],
    [
      'The process of instance 2 is given up after 8 attempts: The file is damaged (STORAGE_CORRUPT).',
      event('process:given-up', { attempts: 8, code: 'STORAGE_CORRUPT', message: 'The file is damaged' }),
    ],
    ['Process 102 of instance 2 killed by SIGKILL.', event('process:ended', { pid: 102, signal: 'SIGKILL' })],
    ['Process 102 of instance 2 exited cleanly.', event('process:ended', { pid: 102, exitCode: 0 })],
    ['Process 102 of instance 2 exited with code 1.', event('process:ended', { pid: 102, exitCode: 1 })],
  ])('%s', (sentence, clusterEvent) => {
    expect(sentenceOf(clusterEvent)).toBe(sentence);
  });

  it('has a sentence and a tone for every type', () => {
    const types: ClusterEvent['type'][] = [
      'lease:acquired',
      'instance:taken-over',
      'instance:moved',
      'instance:returned',
      'instance:released',
      'instance:fenced',
      'instance:failed',
      'instance:damaged',
      'messages:lost',
      'takeover:blocked',
      'instance:added',
      'instance:removed',
      'instance:deregistered',
      'process:started',
      'process:ended',
      'instance:unhealthy',
      'process:restarting',
      'process:given-up',
      'process:slow',
      'process:responsive',
      'process:hung',
      'process:paused',
      'process:resumed',
    ];
    for (const type of types) {
      expect(sentenceOf(event(type))).toMatch(/^[A-Z].*\.$/);
      expect(['good', 'bad', 'live', 'quiet']).toContain(eventTone(event(type)));
    }
  });

  it('distinguishes a kill from a clean exit', () => {
    expect(eventLabel(event('process:ended', { signal: 'SIGKILL' }))).toBe('2 killed');
    expect(eventLabel(event('process:ended', { exitCode: 0 }))).toBe('2 stopped');
    expect(eventLabel(event('lease:acquired'))).toBeNull();
  });
});

describe('a load over time', () => {
  it('has two lines and a minimum time range', () => {
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

  it('annotates the events during it, relative to its start', () => {
    const events = [
      event('process:ended', { atMs: 900, signal: 'SIGKILL' }),
      event('process:ended', { atMs: 3_500, signal: 'SIGKILL' }),
      event('lease:acquired', { atMs: 3_800 }),
      event('instance:taken-over', { atMs: 3_900 }),
      event('instance:added', { atMs: 99_000 }),
    ];
    expect(loadAnnotations(load(), events)).toEqual([
      { atMs: 2_500, label: '2 killed' },
      { atMs: 2_900, label: '2 taken over' },
    ]);
  });

  it.each<[string | null, Partial<ClusterLoad>]>([
    [null, { state: 'draining' }],
    ['Nothing lost, nothing duplicated: 1,200 messages acknowledged, 1,200 consumed.', { lost: 0, left: 0 }],
    [
      '2 lost, 1 duplicated: 1,200 messages acknowledged, 1,200 consumed.',
      { lost: 2, duplicated: 1, left: 0 },
    ],
    [
      'Nothing lost, nothing duplicated, 7 left in the queue: 1,200 messages acknowledged, 1,200 consumed.',
      { lost: 0, left: 7 },
    ],
    [
      'Nothing lost, nothing duplicated: 1,200 messages acknowledged, 1,200 consumed; the outcome of 5 more is unknown.',
      { lost: 0, left: 0, outcomeUnknown: 5 },
    ],
    [
      'An instance is unavailable, so its messages cannot be counted: 1,200 messages acknowledged, 1,200 consumed.',
      { lost: null, left: 3 },
    ],
    [
      'The messages that are left could not be counted: 1,200 messages acknowledged, 1,200 consumed.',
      { lost: null, error: { code: 'TIMED_OUT', message: 'No answer', retryable: true } },
    ],
  ])('in a sentence: %s', (sentence, change) => {
    expect(loadVerdict(load({ state: 'done', acknowledged: 1_200, consumed: 1_200, ...change }))).toBe(
      sentence,
    );
  });
});
