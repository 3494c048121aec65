import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Dequeued, Run } from '@shardlab/contract';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { EventReader } from './raw-client.ts';
import { ServerProcess } from './server-process.ts';
import { endlessScenario, makeDataDir, smallScenario, waiting } from './start-app.ts';

const headers = { 'content-type': 'application/json' };
const post = (url: string, body?: unknown) =>
  fetch(
    url,
    body === undefined ? { method: 'POST' } : { method: 'POST', headers, body: JSON.stringify(body) },
  );
const show = async (url: string, id: string) => (await (await fetch(`${url}/api/runs/${id}`)).json()) as Run;

/** A run of many short points: some are soon done, and all together take longer than any test. */
function manyPoints() {
  const sweep = { ...smallScenario().sweep, threads: Array.from({ length: 16 }, (_, index) => index + 1) };
  return smallScenario({ id: 'many', sweep, repeats: 20 });
}

async function startedRun(url: string, scenario: unknown): Promise<string> {
  return ((await (await post(`${url}/api/runs`, { scenario })).json()) as { id: string }).id;
}

describe('SIGTERM', () => {
  it('ends the server cleanly: it answers calls, and keeps messages and the run under way as cancelled', async () => {
    const DATA_DIR = makeDataDir();
    const first = new ServerProcess({ DATA_DIR });
    const url = await first.ready();
    await post(`${url}/api/queues`, { name: 'q' });
    await post(`${url}/api/queues`, { name: 'empty' });
    await post(`${url}/api/queues/q/messages`, { messages: [{ payload: 'held' }, { payload: 'ready' }] });
    await post(`${url}/api/queues/q/dequeue`, { holdMs: 3_600_000 });
    const id = await startedRun(url, manyPoints());
    const waitingRun = await startedRun(url, endlessScenario());
    const reader = new EventReader(`${url}/api/runs/${id}/events`);
    const longPoll = post(`${url}/api/queues/empty/dequeue`, { waitMs: 30_000 });
    await vi.waitFor(() => expect(reader.events.some(({ type }) => type === 'point')).toBe(true), waiting);

    first.child.kill('SIGTERM');
    first.child.kill('SIGTERM'); // a terminal and npm both send one
    expect(await (await longPoll).json()).toEqual({ messages: [] });
    expect(await first.ended).toEqual({ code: 0, signal: null });
    expect(first.stderr).toBe('');
    await reader.closed;
    expect(reader.events.at(-1)?.type).toBe('end');

    const second = new ServerProcess({ DATA_DIR });
    const again = await second.ready();
    const run = await show(again, id);
    expect(run).toMatchObject({ status: 'cancelled', error: { code: 'RUN_INTERRUPTED' } });
    expect(run.points.length).toBeGreaterThan(0);
    const goesOn = await show(again, waitingRun);
    expect(['queued', 'running'], 'a waiting run goes on').toContain(goesOn.status);
    expect((await post(`${again}/api/runs/${waitingRun}/cancel`)).status).toBe(202);
    const left = (await (await post(`${again}/api/queues/q/dequeue`, { max: 10 })).json()) as Dequeued;
    expect(left.messages.map(({ payload }) => payload).sort()).toEqual(['held', 'ready']);
  });

  it.each(['SIGINT', 'SIGHUP'] as const)('has the same effect as %s', async (signal) => {
    const server = new ServerProcess({ DATA_DIR: makeDataDir() });
    const url = await server.ready();
    await post(`${url}/api/queues`, { name: 'q' });
    server.child.kill(signal);
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(server.stderr).toBe('');
  });
});

describe('SIGKILL', () => {
  it('leaves the run under way as cancelled with its points, and a resume does not measure these again', {
    timeout: 90_000,
  }, async () => {
    const DATA_DIR = makeDataDir();
    const first = new ServerProcess({ DATA_DIR });
    const url = await first.ready();
    const id = await startedRun(url, manyPoints());
    const reader = new EventReader(`${url}/api/runs/${id}/events`);
    const pointsOf = (events: EventReader['events']) => events.filter(({ type }) => type === 'point').length;
    await vi.waitFor(() => expect(pointsOf(reader.events)).toBeGreaterThan(0), waiting);
    first.child.kill('SIGKILL');
    await first.ended;
    await reader.closed;

    const second = new ServerProcess({ DATA_DIR });
    const again = await second.ready();
    const before = await show(again, id);
    expect(before).toMatchObject({
      status: 'cancelled',
      error: { code: 'RUN_INTERRUPTED', retryable: true },
    });
    expect(before.points.length).toBeGreaterThanOrEqual(Math.min(pointsOf(reader.events), 16));
    expect(before.endedAtMs).toBeGreaterThanOrEqual(before.startedAtMs!);
    expect(before.progress.etaMs).toBeNull();
    const { runs } = (await (await fetch(`${again}/api/runs`)).json()) as { runs: unknown[] };
    expect(runs).toContainEqual(expect.objectContaining({ id, errorCode: 'RUN_INTERRUPTED' }));
    const measuredBefore = JSON.stringify(before.points[0]);
    expect((await post(`${again}/api/runs/${id}/resume`)).status).toBe(202);
    const resumed = new EventReader(`${again}/api/runs/${id}/events`);
    await vi.waitFor(
      async () => expect((await show(again, id)).points.length).toBeGreaterThan(before.points.length),
      waiting,
    );
    const run = await show(again, id);
    expect(run).toMatchObject({ status: 'running', error: null });
    expect(JSON.stringify(run.points[0]), 'the first point as it was').toBe(measuredBefore);
    const times = resumed.events.flatMap(({ data }) => {
      if (data.type === 'snapshot') return data.ticks.map(({ atMs }) => atMs);
      return data.type === 'tick' ? [data.tick.atMs] : [];
    });
    const snapshot = resumed.events[0]!.data;
    expect(snapshot.type === 'snapshot' && snapshot.ticks.length, 'the ticks from before').toBeGreaterThan(0);
    // This is the id of an event of the first server; the second server has sent as many events itself.
    const returned = new EventReader(`${again}/api/runs/${id}/events`, 1);
    await vi.waitFor(() => expect(returned.events[0]?.type).toBe('snapshot'), waiting);
    expect(times, 'times of the ticks increase').toEqual([...times].sort((a, b) => a - b));
    expect((await post(`${again}/api/runs/${id}/resume`)).status, 'while it is under way').toBe(409);
    expect((await post(`${again}/api/runs/${id}/cancel`)).status).toBe(202);
    await vi.waitFor(async () => expect((await show(again, id)).status).toBe('cancelled'), waiting);
    const refused = await post(`${again}/api/runs/${id}/resume`);
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
      409,
      'RUN_NOT_RESUMABLE',
    ]);
    await Promise.all([resumed.closed, returned.closed]);
  });
});

describe('a server that cannot serve says why in one sentence and fails', () => {
  async function refused(env: Record<string, string>): Promise<string> {
    const server = new ServerProcess(env);
    expect((await server.ended).code).toBe(1);
    expect(server.stdout).toBe('');
    expect(server.stderr.trimEnd().split('\n')).toHaveLength(1);
    return server.stderr;
  }

  it('because its port is in use', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => new Promise<void>((resolve) => void blocker.close(() => resolve())));
    const { port } = blocker.address() as { port: number };
    expect(await refused({ DATA_DIR: makeDataDir(), PORT: String(port) })).toContain(`Port ${port}`);
  });

  it('because another server has its data folder, and names that process', async () => {
    const DATA_DIR = makeDataDir();
    const first = new ServerProcess({ DATA_DIR });
    const url = await first.ready();
    expect(await refused({ DATA_DIR })).toContain(`process ${first.child.pid}`);
    expect((await fetch(`${url}/api/health`)).status).toBe(200);
  });

  it('because its history is of a newer format', async () => {
    const DATA_DIR = makeDataDir();
    const file = new Database(join(DATA_DIR, 'lab.db'));
    file.pragma('user_version = 99');
    file.close();
    expect(await refused({ DATA_DIR })).toContain('newer version');
  });

  it('because the queues are of a newer format', async () => {
    const DATA_DIR = makeDataDir();
    const first = new ServerProcess({ DATA_DIR });
    await first.ready();
    first.child.kill('SIGTERM');
    await first.ended;
    const file = new Database(join(DATA_DIR, 'cluster', 'catalog.db'));
    file.pragma('user_version = 99');
    file.close();
    expect(await refused({ DATA_DIR })).toContain('newer version');
  });

  it('because its data folder is a file, its port is invalid, or its host needs a key', async () => {
    expect(await refused({ DATA_DIR: '/dev/null' })).toContain('/dev/null');
    expect(await refused({ DATA_DIR: makeDataDir(), PORT: 'http' })).toContain('PORT=http');
    expect(await refused({ DATA_DIR: makeDataDir(), HOST: '0.0.0.0' })).toContain('SHARDLAB_KEY');
  });
});

describe('a server with a key', () => {
  it('may listen on other addresses, and answers only clients with the key', async () => {
    const server = new ServerProcess({
      DATA_DIR: makeDataDir(),
      HOST: '0.0.0.0',
      SHARDLAB_KEY: 'a-long-key',
    });
    const url = (await server.ready()).replace('0.0.0.0', '127.0.0.1');
    expect((await fetch(`${url}/api/queues`)).status).toBe(401);
    const authorization = 'Bearer a-long-key';
    expect((await fetch(`${url}/api/queues`, { headers: { authorization } })).status).toBe(200);
  });
});
