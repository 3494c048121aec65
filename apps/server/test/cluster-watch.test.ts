/** The stream of the cluster: a full snapshot, then changes, and no polling without a client. */
import type { ClusterStreamEvent } from '@shardlab/contract';
import * as contract from '@shardlab/contract';
import { Ajv } from 'ajv';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ClusterService } from '../src/cluster/cluster-service.ts';
import { ClusterWatch } from '../src/cluster/cluster-watch.ts';
import { EventReader } from './raw-client.ts';
import { startApp, waiting } from './start-app.ts';

const validate = new Ajv({ strict: false }).compile(contract.ClusterStreamEvent);

async function listening() {
  const test = await startApp();
  const url = await test.app.listen({ host: '127.0.0.1', port: 0 });
  const call = (method: string, path: string, body?: unknown) =>
    fetch(`${url}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
  const watch = () => {
    const reader = new EventReader<ClusterStreamEvent>(`${url}/api/cluster/events`);
    onTestFinished(() => reader.hangUp());
    return reader;
  };
  return { test, call, watch };
}

const frames = (reader: EventReader<ClusterStreamEvent>, count: number) =>
  vi.waitFor(() => expect(reader.events.length).toBeGreaterThanOrEqual(count), waiting);

describe('a stream of the cluster', () => {
  it('begins with a snapshot and continues with ticks, which match the contract', async () => {
    const { watch, call } = await listening();
    await call('POST', '/api/queues', { name: 'q' });
    await call('POST', '/api/queues/q/messages', { messages: [{ payload: 1 }] });
    const reader = watch();
    await frames(reader, 3);
    expect(reader.events.map(({ type }) => type).slice(0, 3)).toEqual(['snapshot', 'tick', 'tick']);
    for (const { data } of reader.events) {
      validate(data);
      expect(validate.errors).toBeNull();
    }
    expect(reader.events[0]!.data).toMatchObject({
      cluster: { placement: 'local', instances: [{ instance: 1, metrics: { enqueued: 1 } }] },
      load: null,
    });
  });

  it('sends each event and each load sample once to every client, also to one that connected late', {
    timeout: 60_000,
  }, async () => {
    const { watch, call } = await listening();
    const early = watch();
    await frames(early, 1);
    await call('PUT', '/api/cluster/topology', { instances: 2 });
    await call('POST', '/api/cluster/load', { durationMs: 120_000, ratePerSec: 100 });
    await frames(early, early.events.length + 2);
    const late = watch();
    await frames(late, 2);
    await call('POST', '/api/cluster/instances/2/kill');
    const hasTakeover = (reader: EventReader<ClusterStreamEvent>) => {
      const types = receivedBy(reader).events.map(({ type }) => type);
      return types.includes('instance:taken-over');
    };
    await vi.waitFor(() => expect(hasTakeover(early) && hasTakeover(late)).toBe(true), waiting);
    await frames(late, late.events.length + 1);
    for (const reader of [early, late]) {
      const { events, samples } = receivedBy(reader);
      expect(new Set(events.map((event) => JSON.stringify(event))).size).toBe(events.length);
      const times = samples.map(({ atMs }) => atMs);
      expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
      expect(times[0], 'from the first sample on').toBeLessThan(600);
    }
    const types = receivedBy(early).events.map(({ type }) => type);
    expect(types.filter((type) => type === 'process:started')).toHaveLength(2);
    expect(types.indexOf('process:ended')).toBeLessThan(types.indexOf('instance:taken-over'));
  });

  it('stops polling the cluster without clients, and starts again for the next one', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const metrics = vi.fn(async () => ({ processes: [], byInstance: new Map() }));
    const describeWith = () => ({ placement: 'local', instances: [], processes: [], events: [] });
    const cluster = { metrics, describeWith, probe: async () => [] } as unknown as ClusterService;
    const watch = new ClusterWatch({ cluster, loads: { load: null }, now: () => 0 });
    const frames: string[] = [];
    const watcher = { send: (frame: string) => frames.push(frame) };
    const stop = watch.follow(watcher);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(frames.length).toBeGreaterThan(3);
    stop();
    const asked = metrics.mock.calls.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(metrics.mock.calls.length).toBe(asked);
    frames.length = 0;
    watch.follow(watcher)();
    watch.follow(watcher);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(frames.map((frame) => /^event: (.*)$/m.exec(frame)![1]).slice(0, 2)).toEqual(['snapshot', 'tick']);
  });

  it('ends with the server', async () => {
    const { test, watch } = await listening();
    const reader = watch();
    await frames(reader, 1);
    await test.close();
    await reader.closed;
  });
});

/** All events and samples that a client received, in snapshots and ticks. */
function receivedBy(reader: EventReader<ClusterStreamEvent>) {
  const data = reader.events.map((event) => event.data);
  return {
    events: data.flatMap((each) => (each.type === 'snapshot' ? each.cluster.events : each.events)),
    samples: data.flatMap(({ load }) => load?.samples ?? []),
  };
}
