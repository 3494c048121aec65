/** The cluster behind the queue API: how many instances it has, and what happens when their processes are killed. */

import type { Cluster, ClusterInstance, Dequeued, Health, QueueInfo, QueueStats } from '@shardlab/contract';
import * as contract from '@shardlab/contract';
import { Ajv } from 'ajv';
import { describe, expect, it, vi } from 'vitest';
import { makeDataDir, startApp, type TestApp, waiting } from './start-app.ts';

const validate = new Ajv({ strict: false }).compile(contract.Cluster);

async function resize(test: TestApp, instances: number): Promise<Cluster> {
  const { status, body } = await test.put<Cluster>('/api/cluster/topology', { instances });
  expect(status).toBe(200);
  validate(body);
  expect(validate.errors).toBeNull();
  return body;
}

const untilState = (test: TestApp, instance: number, expected: Partial<ClusterInstance>) =>
  vi.waitFor(async () => {
    const { body } = await test.get<Cluster>('/api/cluster');
    expect(body.instances.find((each) => each.instance === instance)).toMatchObject(expected);
  }, waiting);

/** Enqueues each message in a call of its own, so over a connection and a session of its own. */
async function enqueue(test: TestApp, payloads: readonly string[]): Promise<void> {
  for (const payload of payloads) {
    const { status, body } = await test.post('/api/queues/q/messages', { messages: [{ payload }] });
    expect([status, body]).toEqual([201, { ids: [expect.any(String)] }]);
  }
}

async function takeAll(test: TestApp): Promise<unknown[]> {
  const taken: unknown[] = [];
  for (;;) {
    const { body } = await test.post<Dequeued>('/api/queues/q/dequeue', {
      max: 100,
      mode: 'at-most-once',
      waitMs: 1_000,
    });
    if (body.messages.length === 0) return taken;
    taken.push(...body.messages.map(({ payload }) => payload));
  }
}

describe('with one instance', () => {
  it('the instance is in the server’s process, and has no process that could be killed', async () => {
    const test = await startApp();
    const { body } = await test.get<Cluster>('/api/cluster');
    expect(body).toMatchObject({
      placement: 'local',
      instances: [{ instance: 1, state: 'up', process: { pid: process.pid }, epoch: 1, lease: null }],
      processes: [{ instance: 1, pid: process.pid }],
      events: [],
    });
    for (const action of ['kill', 'stop', 'start']) {
      const answer = await test.post(`/api/cluster/instances/1/${action}`);
      expect(answer).toMatchObject({ status: 409, body: { code: 'INSTANCE_IN_SERVER', retryable: false } });
    }
    expect(await resize(test, 1)).toMatchObject({ placement: 'local' });
  });

  it.each([{ instances: 0 }, { instances: 65 }, { instances: 1.5 }, {}, { instances: 2, more: 1 }])(
    'refuses the topology %j',
    async (topology) => {
      const test = await startApp();
      const answer = await test.put('/api/cluster/topology', topology);
      expect(answer).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
    },
  );
});

describe('with several instances', () => {
  it('each instance has a process, and messages enqueued before are kept', { timeout: 60_000 }, async () => {
    const test = await startApp();
    await test.post('/api/queues', { name: 'q' });
    await enqueue(test, ['before']);
    const cluster = await resize(test, 2);
    expect(cluster).toMatchObject({ placement: 'processes', instances: [{ state: 'up' }, { state: 'up' }] });
    const pids = cluster.processes.map(({ pid }) => pid);
    expect(new Set([...pids, process.pid]).size).toBe(3);
    const payloads = Array.from({ length: 10 }, (_, index) => `m${index}`);
    await enqueue(test, payloads);
    expect((await test.get<QueueInfo>('/api/queues/q')).body).toMatchObject({ ready: 11, enqueued: 11 });
    const stats = (await test.get<QueueStats>('/api/queues/q/stats')).body;
    expect(stats.total).toMatchObject({ depth: 11, ready: 11 });
    expect(stats.instances).toMatchObject([{ instance: 1 }, { instance: 2 }]);
    const { body } = await test.get<Cluster>('/api/cluster');
    expect(body.instances.map(({ metrics }) => metrics!.enqueued).every((count) => count > 0)).toBe(true);
    const metrics = String((await test.get('/metrics')).body);
    expect(metrics).toContain('shardlab_queue_ready_messages{queue="q"} 11');
    expect(metrics).toMatch(/shardlab_instance_commits_total\{instance="2"\} [1-9]/);
    expect((await takeAll(test)).sort()).toEqual(['before', ...payloads].sort());
  });

  it('one call acknowledges messages of several instances, and a page of messages covers all instances', {
    timeout: 60_000,
  }, async () => {
    const test = await startApp();
    await resize(test, 2);
    await test.post('/api/queues', { name: 'q' });
    await enqueue(test, ['a', 'b', 'c', 'd']);
    const page = await test.get<{ messages: unknown[]; next: string | null }>(
      '/api/queues/q/messages?limit=3',
    );
    const { next } = page.body;
    const rest = await test.get<{ messages: unknown[] }>(
      `/api/queues/q/messages?after=${encodeURIComponent(next!)}`,
    );
    expect(page.body.messages.length + rest.body.messages.length).toBe(4);
    let finished = 0;
    while (finished < 4) {
      // The dequeue waits, since messages that are being forwarded between instances are found by no call.
      const { body } = await test.post<Dequeued>('/api/queues/q/dequeue', { max: 10, waitMs: 5_000 });
      const receipts = body.messages.map(({ receipt }) => receipt);
      expect((await test.post('/api/queues/q/ack', { receipts })).status).toBe(204);
      finished += receipts.length;
    }
    // The instance that forwarded a message counts it as held until it learns that the other one consumed it.
    await vi.waitFor(
      async () =>
        expect((await test.get('/api/queues/q')).body).toMatchObject({ ready: 0, held: 0, consumed: 4 }),
      waiting,
    );
  });

  it('the instance of a killed process is taken over, and returned later', { timeout: 60_000 }, async () => {
    const test = await startApp();
    await resize(test, 2);
    await test.post('/api/queues', { name: 'q' });
    await enqueue(test, ['a', 'b', 'c', 'd']);
    expect(await test.post('/api/cluster/instances/7/kill')).toMatchObject({
      status: 404,
      body: { code: 'INSTANCE_NOT_FOUND' },
    });
    expect(await test.post('/api/cluster/instances/2/start')).toMatchObject({
      status: 409,
      body: { code: 'PROCESS_RUNNING' },
    });
    expect((await test.post('/api/cluster/instances/2/kill')).status).toBe(200);
    await enqueue(test, ['e', 'f', 'g', 'h']); // any instance may serve these calls
    await untilState(test, 2, { state: 'failed-over', process: null });
    expect((await test.get<Health>('/api/health')).body).toMatchObject({ status: 'ok' });
    expect(await test.post('/api/cluster/instances/2/stop')).toMatchObject({
      status: 409,
      body: { code: 'PROCESS_NOT_RUNNING' },
    });
    const { body } = await test.post<Cluster>('/api/cluster/instances/2/start');
    expect(body.instances[1]).toMatchObject({ state: 'up', process: { state: 'running' } });
    await vi.waitFor(async () => {
      const { events } = (await test.get<Cluster>('/api/cluster')).body;
      const types = events.filter(({ instance }) => instance === 2).map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining(['instance:taken-over', 'instance:returned']));
    }, waiting);
    await test.post('/api/cluster/instances/1/kill', { signal: 'SIGSTOP' });
    await untilState(test, 1, { state: 'failed-over', process: null });
    await test.post('/api/cluster/instances/1/start');
    expect((await takeAll(test)).sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
  });

  it('the metrics show which instances are down after all were stopped', async () => {
    const test = await startApp();
    await resize(test, 2);
    for (const instance of [1, 2])
      expect((await test.post(`/api/cluster/instances/${instance}/stop`)).status).toBe(200);
    for (const instance of [1, 2]) await untilState(test, instance, { state: 'down', restart: null });
    const down = await test.get('/metrics');
    expect(down.status).toBe(200);
    for (const instance of [1, 2])
      expect(String(down.body)).toContain(`shardlab_instance_up{instance="${instance}"} 0\n`);
    expect((await test.get('/api/health/live')).status).toBe(200);
    expect(await test.get('/api/health')).toMatchObject({ status: 503, body: { status: 'failed' } });
  });

  it('processes that end without a request are restarted', { timeout: 60_000 }, async () => {
    const test = await startApp();
    await resize(test, 2);
    await test.post('/api/queues', { name: 'q' });
    await enqueue(test, ['before']);
    const { body } = await test.get<Cluster>('/api/cluster');
    const pids = body.instances.map((instance) => instance.process!.pid);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    for (const [index, instance] of [1, 2].entries()) {
      await vi.waitFor(async () => {
        const { body: now } = await test.get<Cluster>('/api/cluster');
        expect(now.instances[index]).toMatchObject({ instance, state: 'up', restart: null });
        expect(now.instances[index]!.process!.pid).not.toBe(pids[index]);
      }, waiting);
    }
    await enqueue(test, ['after']);
    const taken: unknown[] = []; // found in several calls, since none finds a message that is being forwarded
    await vi.waitFor(async () => {
      taken.push(...(await takeAll(test)));
      expect(taken.toSorted()).toEqual(['after', 'before']);
    }, waiting);
    expect((await test.get<Health>('/api/health')).body).toMatchObject({ status: 'ok' });
    const metrics = String((await test.get('/metrics')).body);
    expect(metrics).toMatch(/^shardlab_process_restarts_total\{instance="1"\} [1-9]/m);
    const { events } = (await test.get<Cluster>('/api/cluster')).body;
    expect(events.find(({ type }) => type === 'process:restarting')).toMatchObject({
      code: 'PROCESS_NOT_RUNNING',
      message: 'The process was ended by SIGKILL',
    });
  });

  it('a removed instance is served until it is empty, and a restart keeps the others', {
    timeout: 60_000,
  }, async () => {
    const dataDir = makeDataDir();
    const first = await startApp({ dataDir });
    await resize(first, 3);
    await first.post('/api/queues', { name: 'q' });
    const payloads = Array.from({ length: 12 }, (_, index) => `m${index}`);
    await enqueue(first, payloads);
    const smaller = await resize(first, 2);
    expect(smaller.instances[2]).toMatchObject({ instance: 3, leaving: true });
    await first.close();
    const second = await startApp({ dataDir });
    expect((await second.get<Cluster>('/api/cluster')).body).toMatchObject({ placement: 'processes' });
    await untilState(second, 3, { state: 'failed-over' });
    expect((await takeAll(second)).sort()).toEqual([...payloads].sort());
    await vi.waitFor(async () => {
      const { body } = await second.get<Cluster>('/api/cluster');
      expect(body.instances.map(({ instance }) => instance)).toEqual([1, 2]);
    }, waiting);
    const last = await resize(second, 1);
    expect(last.placement).toBe('processes');
    await vi.waitFor(async () => {
      const { body } = await second.get<Cluster>('/api/cluster');
      expect(body.instances).toMatchObject([{ instance: 1, state: 'up' }]);
    }, waiting);
    const { events } = (await second.get<Cluster>('/api/cluster')).body;
    expect(events.filter(({ type }) => type === 'instance:unhealthy')).toEqual([]); // the server was closed in an orderly way
    await second.close();
    const third = await startApp({ dataDir });
    expect((await third.get<Cluster>('/api/cluster')).body).toMatchObject({ placement: 'local' });
  });
});
