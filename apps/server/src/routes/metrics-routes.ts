/** Figures for Prometheus, read from the engine at each scrape: nothing is counted twice. */
import type { QueueInfo, SubscriberInfo } from '@shardlab/engine';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { HostedFigures } from '../cluster/backend.ts';
import type { ClusterService } from '../cluster/cluster-service.ts';
import type { App } from '../http/app-types.ts';
import type { EventStreams } from '../http/event-streams.ts';
import type { QueueService } from '../queues/queue-service.ts';
import type { RunStore } from '../store/run-store.ts';

export interface MetricsSources {
  cluster: ClusterService;
  queues: QueueService;
  runs: RunStore;
  streams: EventStreams;
}

export function metricsRoutes(app: App, sources: MetricsSources): void {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const update = registerFigures(registry, sources);
  app.get(
    '/metrics',
    { schema: { summary: 'Figures for Prometheus', tags: ['server'] } },
    async (_request, reply) => {
      update(await collect(sources.cluster));
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}

interface Figures {
  queues: { info: QueueInfo; subscribers: SubscriberInfo[] }[];
  hosted: HostedFigures[];
}

/** All before anything is set: scrapes may come side by side. */
async function collect(cluster: ClusterService): Promise<Figures> {
  const infos = await cluster.queues.queues();
  const queues = await Promise.all(
    infos.map(async (info) => ({
      info,
      subscribers: info.type === 'topic' ? await cluster.queues.subscribers(info.name) : [],
    })),
  );
  return { queues, hosted: await cluster.hosted() };
}

function registerFigures(
  registry: Registry,
  { queues, runs, streams }: Omit<MetricsSources, 'cluster'>,
): (figures: Figures) => void {
  const registers = [registry];
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `shardlab_${name}`, help, labelNames, registers });
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `shardlab_${name}`, help, labelNames, registers });

  const ready = gauge('queue_ready_messages', 'Messages committed, neither consumed nor held', 'queue');
  const held = gauge('queue_held_messages', 'Messages handed out and not finished', 'queue');
  const delayed = gauge(
    'queue_delayed_messages',
    'Messages not due yet, or paused after they came back',
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
    'Age of the oldest message that waits for a subscriber',
    'queue',
    'subscriber',
  );
  const enqueued = counter(
    'queue_enqueued_messages_total',
    'Messages committed since the queue was made',
    'queue',
  );
  const consumed = counter(
    'queue_consumed_messages_total',
    'Messages consumed since the queue was made',
    'queue',
  );
  const commits = counter('instance_commits_total', 'Transactions committed', 'instance');
  const groups = counter('instance_group_commits_total', 'Group commits: a sync each', 'instance');
  const cpu = counter('instance_cpu_seconds_total', 'CPU time by thread', 'instance', 'thread');
  const cache = gauge('instance_cache_bytes', 'Bytes of the message cache', 'instance');
  const waits = counter('waits_total', 'Waits of sessions by event', 'instance', 'event', 'class');
  const waited = counter(
    'wait_seconds_total',
    'Time that sessions waited by event',
    'instance',
    'event',
    'class',
  );
  const runCount = gauge('runs', 'Runs in the history by status', 'status');
  const streamCount = gauge('event_streams', 'Event streams open');
  const dequeues = gauge('dequeues_under_way', 'Dequeue calls under way, waiting ones included');
  const gauges = [ready, held, delayed, backlog, lag, runCount];
  const counters = [enqueued, consumed, commits, groups, cpu, waits, waited];

  return (figures) => {
    for (const metric of [...gauges, ...counters]) metric.reset();
    for (const { info, subscribers } of figures.queues) {
      const labels = { queue: info.name };
      ready.set(labels, info.ready);
      held.set(labels, info.held);
      delayed.set(labels, info.delayed);
      for (const subscriber of subscribers) {
        const of = { ...labels, subscriber: subscriber.name };
        backlog.set(of, subscriber.backlog);
        lag.set(of, subscriber.lagMs / 1000);
      }
      enqueued.inc(labels, info.enqueued);
      consumed.inc(labels, info.consumed);
    }
    for (const { stats, waits: waitStats } of figures.hosted) {
      const of = { instance: String(stats.instance) };
      commits.inc(of, stats.commits);
      groups.inc(of, stats.groups);
      cpu.inc({ ...of, thread: 'session' }, stats.cpu.sessionUs / 1e6);
      cpu.inc({ ...of, thread: 'writer' }, stats.cpu.writerUs / 1e6);
      cache.set(
        of,
        stats.shards.reduce((sum, shard) => sum + shard.cacheBytes, 0),
      );
      for (const wait of waitStats) {
        const labels = { ...of, event: wait.event, class: wait.class };
        waits.inc(labels, wait.waits);
        waited.inc(labels, wait.totalMs / 1000);
      }
    }
    for (const { status, count } of runs.countByStatus()) runCount.set({ status }, count);
    streamCount.set(streams.size);
    dequeues.set(queues.dequeues);
  };
}
