/** Metrics for Prometheus, read from the engine at each scrape. */
import type { SubscriberInfo } from '@shardlab/engine';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import Type from 'typebox';
import type { HostedMetrics, InstanceQueues, InstanceState, ProbeResult } from '../cluster/backend.ts';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { Admission } from '../http/admission.ts';
import type { App } from '../http/app-types.ts';
import type { EventStreams } from '../http/event-streams.ts';
import { contentOf } from '../http/refusals.ts';
import { limits } from '../limits.ts';
import type { RunStore } from '../store/run-store.ts';
import { KeptCounter, type KeptCounterOptions } from './kept-counter.ts';

export interface MetricsSources {
  cluster: ClusterService;
  admission: Admission;
  runs: RunStore;
  streams: EventStreams;
}

export function metricsRoutes(app: App, sources: MetricsSources): void {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const update = registerMetrics(registry, sources);
  let underWay: Promise<string> | undefined;
  app.get(
    '/metrics',
    {
      schema: {
        summary: 'Metrics for Prometheus',
        tags: ['server'],
        response: { 200: contentOf({ 'text/plain': Type.String() }) },
      },
    },
    async (_request, reply) => {
      // Requests at the same time share a scrape: anybody may ask, and it asks all instances.
      underWay ??= scrape().finally(() => {
        underWay = undefined;
      });
      return reply.type(registry.contentType).send(await underWay);
    },
  );
  async function scrape(): Promise<string> {
    update(await collect(sources.cluster));
    return registry.metrics();
  }
}

interface ScrapedMetrics {
  queues: readonly InstanceQueues[];
  subscribers: readonly { topic: string; subscriber: SubscriberInfo }[];
  hosted: readonly HostedMetrics[];
  probes: readonly ProbeResult[];
  instances: readonly InstanceState[];
  restarts: ReadonlyMap<number, number>;
}

async function collect(cluster: ClusterService): Promise<ScrapedMetrics> {
  const [queues, hosted, probes] = await Promise.all([
    orNone(() => cluster.queuesByInstance()),
    orNone(() => cluster.hosted()),
    orNone(() => cluster.probe()),
  ]);
  const instances = await orNone(() => cluster.topology());
  const subscribers = await orNone(() => readSubscribers(cluster, queues));
  return { queues, subscribers, hosted, probes, instances, restarts: cluster.restarts() };
}

async function readSubscribers(
  cluster: ClusterService,
  byInstance: readonly InstanceQueues[],
): Promise<ScrapedMetrics['subscribers']> {
  const topics = byInstance.flatMap(({ queues }) => queues).filter(({ type }) => type === 'topic');
  const names = [...new Set(topics.map(({ name }) => name))];
  const lists = names.map(async (topic) =>
    (await cluster.queues.subscribers(topic)).map((subscriber) => ({ topic, subscriber })),
  );
  return (await Promise.all(lists)).flat();
}

/**
 * Leaves out values that are unavailable now or do not come in time: a scrape while instances are down must still succeed and
 * show that they are.
 */
async function orNone<T>(read: () => readonly T[] | Promise<readonly T[]>): Promise<readonly T[]> {
  const timeout = Promise.withResolvers<readonly T[]>();
  const timer = setTimeout(() => timeout.resolve([]), limits.scrapeMs);
  try {
    return await Promise.race([read(), timeout.promise]);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

function registerMetrics(
  registry: Registry,
  { admission, runs, streams }: Omit<MetricsSources, 'cluster'>,
): (scraped: ScrapedMetrics) => void {
  const registers = [registry];
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `shardlab_${name}`, help, labelNames, registers });
  const kept =
    (since: KeptCounterOptions['since']) =>
    (name: string, help: string, ...labelNames: string[]) =>
      new KeptCounter(new Counter({ name: `shardlab_${name}`, help, labelNames, registers }), { since });
  const [counter, storedCounter] = [kept('reopened'), kept('stored')];

  const readyMessages = gauge(
    'queue_ready_messages',
    'Messages committed, neither consumed nor held',
    'queue',
  );
  const held = gauge(
    'queue_held_messages',
    'Messages delivered and not yet acknowledged or returned',
    'queue',
  );
  const delayed = gauge(
    'queue_delayed_messages',
    'Messages that are not due yet, or wait for their retry delay',
    'queue',
  );
  const backlog = gauge(
    'subscriber_backlog_messages',
    'Messages of a topic that a subscriber has not consumed',
    'queue',
    'subscriber',
  );
  const lag = gauge(
    'subscriber_lag_seconds',
    'Age of the oldest message that a subscriber has not received',
    'queue',
    'subscriber',
  );
  const enqueued = storedCounter(
    'queue_enqueued_messages_total',
    'Messages committed since the queue was created',
    'queue',
  );
  const consumed = storedCounter(
    'queue_consumed_messages_total',
    'Messages consumed since the queue was created',
    'queue',
  );
  const refused = counter(
    'queue_refused_messages_total',
    'Messages that flow control refused since the instances opened',
    'queue',
  );
  const lost = gauge(
    'queue_lost_messages',
    'Messages of a nonpersistent queue that were in memory when its instances last stopped',
    'queue',
  );
  const up = gauge('instance_up', '1 if a process serves the instance, its own or another', 'instance');
  const ready = gauge(
    'instance_ready',
    '1 if the instance has committed a probe within the last second',
    'instance',
  );
  const restarts = counter(
    'process_restarts_total',
    'Restarts of the process of an instance after an unrequested exit',
    'instance',
  );
  const commits = counter('instance_commits_total', 'Transactions committed', 'instance');
  const groups = counter('instance_group_commits_total', 'Group commits', 'instance');
  const syncs = counter('instance_syncs_total', 'Group commits that were synced', 'instance');
  const cpu = counter('instance_cpu_seconds_total', 'CPU time by thread', 'instance', 'thread');
  const cache = gauge('instance_cache_bytes', 'Bytes used by the message cache', 'instance');
  const logBytes = gauge(
    'instance_log_bytes',
    'Bytes of the write-ahead logs of its files; a reader with an open transaction makes them grow',
    'instance',
  );
  const waits = counter('waits_total', 'Waits of sessions by event', 'instance', 'event', 'class');
  const waited = counter(
    'wait_seconds_total',
    'Time that sessions waited by event',
    'instance',
    'event',
    'class',
  );
  const counted = counter(
    'counters_total',
    'Counters of the modules of an instance, by name',
    'instance',
    'counter',
  );
  const runCount = gauge('runs', 'Runs in the history by status', 'status');
  const damage = gauge('scrub_findings', 'Damage of stored data that the last scrub found', 'instance');
  const scrubbed = gauge('scrub_last_completed_seconds', 'End of the last scrub, since 1970', 'instance');
  const streamCount = gauge('event_streams', 'Open event streams');
  const dequeues = gauge('dequeues_under_way', 'Dequeue calls in progress, waiting ones included');
  const bodyBytes = gauge('request_body_bytes', 'Bytes of request bodies in memory');
  // What is not set again is of a queue, a subscriber or an instance that is gone or does not answer.
  const gauges = [
    lost,
    up,
    ready,
    readyMessages,
    held,
    delayed,
    backlog,
    lag,
    cache,
    logBytes,
    damage,
    scrubbed,
    runCount,
  ];
  const ofQueues = [enqueued, consumed, refused];
  const ofInstances = [restarts, commits, groups, syncs, cpu, waits, waited, counted];

  return (scraped) => {
    for (const metric of gauges) metric.reset();
    for (const { instance, queues } of scraped.queues) {
      for (const info of queues) {
        const labels = { queue: info.name };
        const isSharded = info.kind === 'sharded';
        // Of a queue that is not sharded each instance counts the same file.
        const add = (metric: Gauge, value: number) =>
          isSharded ? metric.inc(labels, value) : metric.set(labels, value);
        add(readyMessages, info.ready);
        add(held, info.held);
        add(delayed, info.delayed);
        add(lost, info.lost);
        const part = isSharded ? String(instance) : '';
        enqueued.read(labels, info.enqueued, part);
        consumed.read(labels, info.consumed, part);
        refused.read(labels, info.refused, String(instance));
      }
    }
    for (const { topic, subscriber } of scraped.subscribers) {
      const labels = { queue: topic, subscriber: subscriber.name };
      backlog.set(labels, subscriber.backlog);
      lag.set(labels, subscriber.lagMs / 1000);
    }
    for (const { instance, state } of scraped.instances) {
      const labels = { instance: String(instance) };
      const probe = scraped.probes.find((each) => each.instance === instance);
      up.set(labels, state === 'down' ? 0 : 1);
      ready.set(labels, probe?.failure === null ? 1 : 0);
      restarts.read(labels, scraped.restarts.get(instance) ?? 0);
    }
    for (const { stats, waits: waitStats } of scraped.hosted) {
      const instanceLabels = { instance: String(stats.instance) };
      commits.read(instanceLabels, stats.commits);
      groups.read(instanceLabels, stats.groups);
      syncs.read(instanceLabels, stats.syncs);
      cpu.read({ ...instanceLabels, thread: 'session' }, stats.cpu.sessionUs / 1e6);
      cpu.read({ ...instanceLabels, thread: 'writer' }, stats.cpu.writerUs / 1e6);
      logBytes.set(instanceLabels, stats.logBytes);
      cache.set(
        instanceLabels,
        stats.shards.reduce((sum, shard) => sum + shard.cacheBytes, 0),
      );
      damage.set(instanceLabels, stats.scrub.findings.length);
      if (stats.scrub.lastCompletedAtMs !== null)
        scrubbed.set(instanceLabels, stats.scrub.lastCompletedAtMs / 1000);
      for (const [name, count] of Object.entries(stats.counters))
        counted.read({ ...instanceLabels, counter: name }, count);
      for (const wait of waitStats) {
        const labels = { ...instanceLabels, event: wait.event, class: wait.class };
        waits.read(labels, wait.waits);
        waited.read(labels, wait.totalMs / 1000);
      }
    }
    // Nothing is forgotten because nobody answers.
    const queueNames = new Set(scraped.queues.flatMap(({ queues }) => queues.map(({ name }) => name)));
    const instances = new Set(scraped.instances.map(({ instance }) => String(instance)));
    if (scraped.queues.length > 0)
      for (const metric of ofQueues) metric.keep(({ queue }) => queueNames.has(String(queue)));
    if (instances.size > 0)
      for (const metric of ofInstances) metric.keep(({ instance }) => instances.has(String(instance)));
    for (const metric of [...ofQueues, ...ofInstances]) metric.write();
    for (const { status, count } of runs.countByStatus()) runCount.set({ status }, count);
    streamCount.set(streams.size);
    dequeues.set(admission.dequeues);
    bodyBytes.set(admission.bodyBytes);
  };
}
