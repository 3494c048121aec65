/** A run history with damaged rows, or that is no database at all: the queues are served, and what is wrong is named. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { ErrorBody, Run, RunList } from '@shardlab/contract';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { mapError } from '../src/http/map-error.ts';
import {
  makeDataDir,
  makeFolder,
  openApp,
  removeFolder,
  runToEnd,
  smallScenario,
  startApp,
  waiting,
} from './start-app.ts';

/** A run of the server, and the same imported, each with two points. */
let stored: { file: Buffer; ids: string[] };

beforeAll(async () => {
  const dataDir = makeFolder();
  const test = await openApp({ dataDir });
  const scenario = smallScenario({ sweep: { instances: [1], threads: [1, 2] } });
  const { id } = await runToEnd(test, scenario);
  const exported = (await test.get<Run>(`/api/runs/${id}/export?format=json`)).body;
  const imported = await test.post<{ id: string }>('/api/runs/import', exported);
  const ids = [id, imported.body.id];
  await test.close();
  stored = { file: readFileSync(join(dataDir, 'lab.db')), ids };
  removeFolder(dataDir);
});

/** A server on a folder with the two runs, changed by SQL. `said` is its log. */
async function startWith(sql: string) {
  const dataDir = makeDataDir();
  writeFileSync(join(dataDir, 'lab.db'), stored.file);
  const file = new Database(join(dataDir, 'lab.db'));
  file.exec(sql);
  file.close();
  return startLogging(dataDir);
}

async function startLogging(dataDir: string) {
  let said = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      said += String(chunk);
      done();
    },
  });
  const test = await startApp({ dataDir, logger: { level: 'error', stream } });
  return { test, said: () => said };
}

/** What must work, whatever the history is. */
async function expectServed({ test }: Awaited<ReturnType<typeof startLogging>>): Promise<void> {
  expect((await test.get('/api/health/ready')).status).toBe(200);
  await test.post('/api/queues', { name: 'q' });
  expect((await test.post('/api/queues/q/messages', { messages: [{ payload: 1 }] })).status).toBe(201);
  for (const path of ['/api/runs', '/api/claims', '/api/scenarios', '/api/measured-workloads', '/metrics'])
    expect([path, (await test.get(path)).status]).toEqual([path, 200]);
}

describe('a damaged row of a run', () => {
  const first = 'run_number = (SELECT min(run_number) FROM run)';

  it.each<[damage: string, sql: string, said: RegExp]>([
    ['claims of a done run that are no JSON', `claims = '{'`, /its column claims is not JSON/],
    ['claims that are null', `claims = '[null]'`, /does not fit: \/(claims|verdicts)\/0/],
    ['a scenario that is no JSON', `scenario = '{'`, /its column scenario is not JSON/],
    ['an error that is no JSON', `error = '{'`, /its column error is not JSON/],
    ['a progress of another shape', `progress = '7'`, /does not fit: \/progress/],
    ['a scale that there is not', `scale = 'weird'`, /does not fit: \/scale/],
    [
      'the progress of a run that waits',
      `progress = '{', status = 'queued'`,
      /its column progress is not JSON/,
    ],
    [
      'the progress of a run under way',
      `progress = '{', status = 'running'`,
      /its column progress is not JSON/,
    ],
  ])('keeps neither the queues nor the other runs from being served: %s', async (_damage, change, why) => {
    const server = await startWith(`UPDATE run SET ${change} WHERE ${first}`);
    const { test } = server;
    await expectServed(server);
    const [damaged, other] = stored.ids as [string, string];
    const list = (await test.get<RunList>('/api/runs')).body;
    expect(list.runs.map(({ id }) => id)).toContain(other);
    // A list does not read the scenario.
    if (!change.startsWith('scenario')) {
      expect(list.runs).toHaveLength(1);
      expect(list.damaged).toEqual([{ id: damaged, damage: expect.stringMatching(why) }]);
    }
    for (const path of ['', '/export?format=csv', '/export?format=json', '/events']) {
      const { status, body } = await test.get<ErrorBody>(`/api/runs/${damaged}${path}`);
      expect([path, status, body.code]).toEqual([path, 500, 'RUN_DAMAGED']);
      expect(body.message).toMatch(why);
    }
    expect(server.said()).toContain(`The run ${damaged} cannot be read`);
    expect((await test.get<Run>(`/api/runs/${other}`)).body.points).toHaveLength(2);
    expect((await test.remove(`/api/runs/${damaged}`)).status).toBe(204);
    expect((await test.get<RunList>('/api/runs')).body).toEqual({
      runs: list.runs.filter(({ id }) => id === other),
      next: null,
    });
  });

  it('is left out where it is one point or one tick, and the run says so', async () => {
    const second = 'run_number = (SELECT max(run_number) FROM run)';
    const server = await startWith(`
      UPDATE point SET body = '{' WHERE ${second} AND position = 1;
      UPDATE tick SET body = '{"atMs":"noon"}' WHERE ${second};
      INSERT INTO queue_sample VALUES ('10m', ${Date.now()}, 'q', '[{"atMs":null}]'), ('never', 1, 'q', '{');
      INSERT INTO scenario VALUES ('broken', '{', 1), ('other', '{"version":2}', 2);`);
    const { test } = server;
    await expectServed(server);
    const id = stored.ids[1]!;
    const run = (await test.get<Run>(`/api/runs/${id}`)).body;
    expect(run.points).toHaveLength(1);
    expect(run.damaged).toEqual(['point 1 is not JSON']);
    expect(
      String((await test.get(`/api/runs/${id}/export?format=csv`)).body)
        .trim()
        .split('\n'),
    ).toHaveLength(2);
    const exported = (await test.get<Run>(`/api/runs/${id}/export?format=json`)).body;
    expect(exported).toMatchObject({ points: run.points, damaged: run.damaged });
    expect((await test.post('/api/runs/import', exported)).status).toBe(201);
    expect(String((await test.get(`/api/runs/${id}/events`)).body)).toContain('"ticks":[]');
    expect((await test.get('/api/scenarios/broken')).status).toBe(404);
    expect((await test.remove('/api/scenarios/broken')).status).toBe(204);
    expect(server.said()).toContain(`Point 1 of the run ${id} is not JSON`);
    expect(server.said()).toContain('The uploaded scenario broken is not JSON');
    expect(server.said()).toContain('history of the queue q does not fit');
  });
});

describe('a history that is damaged as a whole', () => {
  const pageBytes = 4_096;
  /** Pages of zeros in place of some in the middle. */
  const torn = () => Buffer.from(stored.file).fill(0, 2 * pageBytes, 6 * pageBytes);

  it.each<[damage: string, content: () => Buffer]>([
    ['is no database', () => Buffer.alloc(20_000, 'not a database')],
    ['has lost pages', torn],
    ['has lost its end', () => Buffer.from(stored.file.subarray(0, 3 * pageBytes))],
  ])('is set aside and named, and another one is begun: one that %s', async (_damage, content) => {
    const dataDir = makeDataDir();
    writeFileSync(join(dataDir, 'lab.db'), content());
    const server = await startLogging(dataDir);
    await expectServed(server);
    const [aside, ...others] = readdirSync(dataDir).filter((name) => name.startsWith('lab.db.damaged-'));
    expect(others).toEqual([]);
    expect(readFileSync(join(dataDir, aside!))).toEqual(content());
    const named = { notices: [expect.stringContaining(aside!)] };
    expect((await server.test.get<RunList>('/api/runs')).body).toMatchObject({ runs: [], ...named });
    expect(server.said()).toContain(aside);
    expect((await server.test.post('/api/scenarios', smallScenario())).status).toBe(201);
    await server.test.close();
    // It is named as long as it is there.
    const again = await startApp({ dataDir });
    expect((await again.get<RunList>('/api/runs')).body).toMatchObject(named);
    expect((await again.get('/api/scenarios/small')).status).toBe(200);
  });

  it('keeps what the lab stores until the end where no file can be begun', async () => {
    const dataDir = makeDataDir();
    mkdirSync(join(dataDir, 'lab.db'));
    const server = await startLogging(dataDir);
    await expectServed(server);
    expect((await server.test.post('/api/scenarios', smallScenario())).status).toBe(201);
    expect((await server.test.get('/api/scenarios/small')).status).toBe(200);
    const { body } = await server.test.get<RunList>('/api/runs');
    expect(body.notices).toEqual([expect.stringContaining('is lost when the server ends')]);
    expect(JSON.stringify(body)).not.toContain(dataDir);
  });
});

it('files of a killed run are removed by the next start', async () => {
  const dataDir = makeDataDir();
  const left = join(dataDir, 'runs', `shardlab-run-${process.pid}.1-abcdef`);
  mkdirSync(join(left, 'trial-0'), { recursive: true });
  writeFileSync(join(left, 'trial-0', 'queue.db'), Buffer.alloc(1_000));
  const test = await startApp({ dataDir });
  await vi.waitFor(() => expect(readdirSync(join(dataDir, 'runs'))).toEqual([]), waiting);
  onTestFinished(() => test.close());
});

it('a recorded run whose file is damaged is left out', async () => {
  const dataDir = makeDataDir();
  mkdirSync(join(dataDir, 'recorded'));
  const [suffixed] = readdirSync(new URL('../../../scenarios/recorded', import.meta.url)).filter((name) =>
    name.endsWith('.gz'),
  );
  writeFileSync(join(dataDir, 'recorded', suffixed!), 'not compressed');
  const server = await startLogging(dataDir);
  await expectServed(server);
  expect(server.said()).toContain(`${suffixed} cannot be read`);
});

it.each([
  ['SQLITE_FULL', 503, 'STORAGE_FULL'],
  ['SQLITE_READONLY_DBMOVED', 500, 'STORAGE_READ_ONLY'],
  ['SQLITE_IOERR_WRITE', 500, 'STORAGE_FAILED'],
  ['SQLITE_CORRUPT', 500, 'STORAGE_CORRUPT'],
  ['SQLITE_CONSTRAINT', 500, 'INTERNAL'],
])('%s of the history is answered with %i %s', (sqlite, status, code) => {
  expect(mapError(new Database.SqliteError('failed', sqlite))).toMatchObject({ status, body: { code } });
});

it.each([
  ['ENOSPC', 503, 'STORAGE_FULL'],
  ['EDQUOT', 503, 'STORAGE_FULL'],
  ['EROFS', 500, 'STORAGE_READ_ONLY'],
  ['ENOENT', 500, 'INTERNAL'],
])('%s of another file is answered with %i %s', (system, status, code) => {
  const error = Object.assign(new Error('failed'), { code: system, syscall: 'write' });
  expect(mapError(error)).toMatchObject({ status, body: { code } });
});
