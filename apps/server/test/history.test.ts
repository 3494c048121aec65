import { join } from 'node:path';
import type { Run, RunEvent, RunList } from '@shardlab/contract';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { createApp } from '../src/app.ts';
import { openLabDatabase } from '../src/store/lab-database.ts';
import { RunStore } from '../src/store/run-store.ts';
import { makeDataDir, runToEnd, smallScenario, startApp } from './start-app.ts';

describe('the history', () => {
  it('keeps a run over a restart, with its points, its ticks and its place in the list', async () => {
    const test = await startApp();
    const phases = { warmupMs: 0, measureMs: 900, drainMs: 300 };
    const run = await runToEnd(test, smallScenario({ phases }));
    const eventsBefore = (await test.get<string>(`/api/runs/${run.id}/events`)).body;
    await test.close();

    const again = await startApp({ dataDir: test.dataDir });
    expect((await again.get<Run>(`/api/runs/${run.id}`)).body).toEqual(run);
    expect((await again.get<RunList>('/api/runs')).body.runs).toMatchObject([{ id: run.id, status: 'done' }]);
    const eventsAfter = (await again.get<string>(`/api/runs/${run.id}/events`)).body;
    expect(eventsAfter).toBe(eventsBefore);
    const [snapshot] = [...eventsAfter.matchAll(/^data: (.*)$/gm)].map(
      (match) => JSON.parse(match[1]!) as RunEvent,
    );
    expect(snapshot?.type === 'snapshot' && snapshot.ticks.length).toBeGreaterThan(0);
  });

  it('also keeps queues and their messages over a restart', async () => {
    const test = await startApp();
    await test.post('/api/queues', { name: 'q' });
    await test.post('/api/queues/q/messages', {
      messages: [{ payload: { kept: true }, properties: { a: 'b' } }],
    });
    await test.close();
    const again = await startApp({ dataDir: test.dataDir });
    expect((await again.post('/api/queues/q/dequeue', {})).body).toMatchObject({
      messages: [{ payload: { kept: true }, properties: { a: 'b' } }],
    });
  });

  it('of a newer format is refused and not changed', async () => {
    const dataDir = makeDataDir();
    const path = join(dataDir, 'lab.db');
    const file = new Database(path);
    file.pragma('user_version = 99');
    file.close();
    await expect(createApp({ dataDir })).rejects.toMatchObject({
      code: 'HISTORY_FORMAT_NEWER',
      message: expect.stringContaining('format 99'),
    });
    const after = new Database(path);
    expect(after.pragma('user_version', { simple: true })).toBe(99);
    after.close();
  });

  it('of the previous format is kept, and the table for the history of queues is added', async () => {
    const dataDir = makeDataDir();
    const path = join(dataDir, 'lab.db');
    const before = openLabDatabase(path);
    before.exec(`DROP TABLE queue_sample; INSERT INTO scenario VALUES ('kept', '{}', 1)`);
    before.pragma('user_version = 6');
    before.close();
    const after = openLabDatabase(path);
    expect(after.pragma('user_version', { simple: true })).toBe(7);
    expect(after.prepare('SELECT id FROM scenario').pluck().all()).toEqual(['kept']);
    expect(after.prepare('SELECT count(*) FROM queue_sample').pluck().get()).toBe(0);
    after.close();
  });

  it('keeps a maximum number of runs, and drops the oldest that have ended', async () => {
    const dataDir = makeDataDir();
    const test = await startApp({ dataDir });
    const done = await runToEnd(test, smallScenario());
    await test.close();
    const file = openLabDatabase(join(dataDir, 'lab.db'));
    const store = new RunStore(file, { runsKeptMax: 3, now: () => 5 });
    store.add({ ...done, id: 'active', status: 'running' });
    for (let count = 0; count < 5; count++) store.add({ ...done, id: `run-${count}` });
    const { runs } = await store.list({ limit: 10 });
    const ids = runs.map(({ id }) => id);
    expect(ids).toEqual(['run-4', 'run-3', 'run-2', 'active']);
    expect(file.prepare('SELECT count(*) FROM point').pluck().get()).toBe(0);
    file.close();
  });
});
