/** The load of the cluster page: it is bounded, only one runs at a time, and it accounts for every message. */
import type { Cluster, ErrorBody, LoadAnswer, QueueList } from '@shardlab/contract';
import * as contract from '@shardlab/contract';
import { Ajv } from 'ajv';
import { describe, expect, it, vi } from 'vitest';
import { startApp, type TestApp, waiting } from './start-app.ts';

const url = '/api/cluster/load';
const validate = new Ajv({ strict: false }).compile(contract.LoadAnswer);

async function loadOf(test: TestApp) {
  const { body } = await test.get<LoadAnswer>(url);
  validate(body);
  expect(validate.errors).toBeNull();
  return body.load;
}

const untilLoad = (test: TestApp, expected: object) =>
  vi.waitFor(async () => expect(await loadOf(test)).toMatchObject(expected), waiting);

const queuesOf = async (test: TestApp) =>
  (await test.get<QueueList>('/api/queues')).body.queues.map(({ name }) => name);

describe('a load', () => {
  it('ends by itself with every message accounted for, and leaves no queue behind', async () => {
    const test = await startApp();
    expect(await loadOf(test)).toBeNull();
    const started = await test.post<LoadAnswer>(url, { durationMs: 3_000, ratePerSec: 200 });
    expect(started).toMatchObject({
      status: 202,
      body: { load: { state: 'running', lost: null, left: null } },
    });
    await untilLoad(test, { state: 'done' });
    const load = (await loadOf(test))!;
    expect(load).toMatchObject({ lost: 0, duplicated: 0, outcomeUnknown: 0, left: 0, error: null });
    expect(load.consumed).toBe(load.acknowledged);
    expect(load.acknowledged).toBeGreaterThan(20);
    expect(load.acknowledged, 'at its rate').toBeLessThanOrEqual(640);
    // There should be twelve samples, but a busy machine skips some.
    expect(load.samples.length).toBeGreaterThanOrEqual(3);
    expect(load.slowestCommitMs).toBeGreaterThan(0);
    expect(await queuesOf(test)).toEqual([]);
  });

  it('consumes what it enqueued when it is stopped; another load may follow, but not run at the same time', async () => {
    const test = await startApp();
    await test.post(url, { durationMs: 120_000 });
    expect(await test.post<ErrorBody>(url, {})).toMatchObject({
      status: 409,
      body: { code: 'LOAD_RUNNING', retryable: true },
    });
    await vi.waitFor(async () => expect((await loadOf(test))!.acknowledged).toBeGreaterThan(0), waiting);
    expect((await test.remove<LoadAnswer>(url)).status).toBe(200);
    await untilLoad(test, { state: 'done', lost: 0, duplicated: 0 });
    expect((await test.post(url, { durationMs: 1_000 })).status).toBe(202);
    await untilLoad(test, { state: 'running', acknowledged: expect.any(Number) });
  });

  it('does not count messages of other clients in its queue', async () => {
    const test = await startApp();
    await test.post(url, { durationMs: 120_000 });
    await test.postText(
      '/api/queues/shardlab-failover-load/messages',
      '{"messages":[{"payload":0.40000000},{"payload":99.0},{"payload":"x"}]}',
    );
    await vi.waitFor(async () => expect((await loadOf(test))!.acknowledged).toBeGreaterThan(0), waiting);
    await test.remove(url);
    await untilLoad(test, { state: 'done', lost: 0, left: 0, duplicated: 0, error: null });
    const { acknowledged, consumed } = (await loadOf(test))!;
    expect(consumed).toBe(acknowledged);
  });

  it('ends with the server, even in the middle of its work', async () => {
    const test = await startApp();
    await test.post(url, { durationMs: 120_000 });
    await test.close();
  });

  it('recreates its queue if an earlier server did not drop it', async () => {
    const test = await startApp();
    await test.post('/api/queues', { name: 'shardlab-failover-load', type: 'topic' });
    expect((await test.post(url, { durationMs: 1_000 })).status).toBe(202);
    await untilLoad(test, { state: 'done', lost: 0 });
  });

  it.each([
    { durationMs: 0 },
    { durationMs: 3_600_000 },
    { ratePerSec: 1e9 },
    { ratePerSec: 'fast' },
    { colour: 'red' },
  ])('of %j is refused', async (options) => {
    const test = await startApp();
    expect(await test.post(url, options)).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
    expect(await loadOf(test)).toBeNull();
  });

  it('loses and duplicates nothing while the processes under it are killed, stopped and restarted', {
    timeout: 90_000,
  }, async () => {
    const test = await startApp();
    await test.put('/api/cluster/topology', { instances: 2 });
    await test.post(url, { durationMs: 120_000, ratePerSec: 300 });
    const progress = async () => {
      const before = (await loadOf(test))!.consumed;
      await vi.waitFor(
        async () => expect((await loadOf(test))!.consumed).toBeGreaterThan(before + 50),
        waiting,
      );
    };
    const untilState = (instance: number, state: string) =>
      vi.waitFor(async () => {
        const { body } = await test.get<Cluster>('/api/cluster');
        expect(body.instances.find((each) => each.instance === instance)?.state).toBe(state);
      }, waiting);
    await progress();
    await test.post('/api/cluster/instances/2/kill');
    await untilState(2, 'failed-over');
    await progress();
    await test.post('/api/cluster/instances/2/start');
    await untilState(2, 'up');
    await progress();
    await test.post('/api/cluster/instances/1/kill', { signal: 'SIGSTOP' });
    await untilState(1, 'failed-over');
    await progress();
    await test.remove(url);
    await untilLoad(test, { state: 'done' });
    const load = (await loadOf(test))!;
    expect(load).toMatchObject({ lost: 0, duplicated: 0, left: 0, error: null });
    expect(load.consumed + load.outcomeUnknown).toBeGreaterThanOrEqual(load.acknowledged);
  });

  it('continues while its instance moves out of the server', { timeout: 60_000 }, async () => {
    const test = await startApp();
    await test.post(url, { durationMs: 120_000, ratePerSec: 300 });
    await vi.waitFor(async () => expect((await loadOf(test))!.consumed).toBeGreaterThan(50), waiting);
    expect((await test.put('/api/cluster/topology', { instances: 2 })).status).toBe(200);
    const { consumed } = (await loadOf(test))!;
    await vi.waitFor(
      async () => expect((await loadOf(test))!.consumed).toBeGreaterThan(consumed + 50),
      waiting,
    );
    await test.remove(url);
    await untilLoad(test, { state: 'done', lost: 0, duplicated: 0, outcomeUnknown: 0, error: null });
  });
});
