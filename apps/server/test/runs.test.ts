import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ClaimLedger,
  distributionOf,
  type ErrorBody,
  figureOf,
  type RecordedRunList,
  type Run,
  type RunEvent,
  type RunList,
} from '@shardlab/contract';
import { appendVerdicts, bundledStudies, readVerdicts, writeRecorded } from '@shardlab/lab';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import {
  endlessScenario,
  makeDataDir,
  runToEnd,
  shareApp,
  smallScenario,
  startApp,
  type TestApp,
  waiting,
} from './start-app.ts';

const start = (test: TestApp, scenario: unknown, scale = 'quick') =>
  test.post<{ id: string } & ErrorBody>('/api/runs', { scenario, scale });
const show = async (test: TestApp, id: string) => (await test.get<Run>(`/api/runs/${id}`)).body;
const untilStatus = (test: TestApp, id: string, status: Run['status']) =>
  vi.waitFor(async () => {
    const run = await show(test, id);
    if (run.status !== status) throw new Error(`${run.status}, not ${status} yet`);
    return run;
  }, waiting);

/** The events of a run that has ended. */
async function follow(test: TestApp, id: string): Promise<RunEvent[]> {
  const { body } = await test.get<string>(`/api/runs/${id}/events`);
  return [...body.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!) as RunEvent);
}

/** The cells of each line of a text in CSV (RFC 4180), in which a cell in quotes may hold commas. */
const readCsv = (text: string): string[][] =>
  text
    .trimEnd()
    .split('\r\n')
    .map((line) =>
      [...line.matchAll(/(?<=^|,)(?:"((?:[^"]|"")*)"|([^,]*))(?=,|$)/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain!,
      ),
    );

const ticksOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'snapshot' ? event.ticks : []));

describe('a run', () => {
  it('of an inline scenario ends with points without violations, and with its environment', async () => {
    const test = await startApp();
    // The window is long enough for at least one commit on a busy disk.
    const run = await runToEnd(
      test,
      smallScenario({
        sweep: { instances: [1], threads: [1], roundTripMs: [2] },
        phases: { warmupMs: 0, measureMs: 1_500, drainMs: 500 },
      }),
    );
    expect(run).toMatchObject({
      status: 'done',
      error: null,
      watched: true,
      progress: { done: 1, total: 1 },
    });
    expect(run.points).toHaveLength(1);
    const [point] = run.points;
    expect(figureOf(point!, 'dequeuePerSec')).toBeGreaterThan(0);
    expect(point!.integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 });
    expect(run.environment).toMatchObject({ node: process.version });
    expect(run.claims.map(({ id }) => id)).toEqual(['A3']);
  });

  it('of a scenario by id is queued, shown and listed at once', async () => {
    const test = await startApp();
    await test.postText('/api/scenarios', JSON.stringify(endlessScenario()));
    const { status, body, headers } = await start(test, 'endless');
    expect([status, headers.location]).toEqual([202, `/api/runs/${body.id}`]);
    expect(await show(test, body.id)).toMatchObject({ id: body.id, scenario: { id: 'endless' }, points: [] });
    const { runs } = (await test.get<RunList>('/api/runs')).body;
    expect(runs).toMatchObject([{ id: body.id, scenarioId: 'endless', scale: 'quick' }]);
  });

  it('waits while another is under way, and is cancelled while it waits', async () => {
    const test = await startApp();
    const first = (await start(test, endlessScenario())).body.id;
    const second = (await start(test, smallScenario())).body.id;
    const third = (await start(test, smallScenario())).body.id;
    await untilStatus(test, first, 'running');
    expect((await show(test, second)).status).toBe('queued');
    expect(await test.post(`/api/runs/${second}/cancel`)).toMatchObject({
      status: 202,
      body: { status: 'cancelled' },
    });
    expect((await test.post<ErrorBody>(`/api/runs/${second}/cancel`)).body.code).toBe('RUN_NOT_ACTIVE');
    expect((await test.post(`/api/runs/${first}/cancel`)).status).toBe(202);
    await untilStatus(test, first, 'cancelled');
    expect((await untilStatus(test, third, 'done')).points).toHaveLength(1);
    expect(await show(test, second)).toMatchObject({ status: 'cancelled', startedAtMs: null, error: null });
  });

  it('that fails has a reason without paths of this machine, which are in the log only', async () => {
    const dataDir = makeDataDir();
    const log: string[] = [];
    const stream = { write: (line: string) => void log.push(line) };
    const test = await startApp({ dataDir, logger: { level: 'error', stream } });
    writeFileSync(join(dataDir, 'runs'), 'not a folder');
    const { id } = (await start(test, smallScenario())).body;
    const run = await untilStatus(test, id, 'failed');
    expect(run.error).toMatchObject({
      code: 'DATA_FOLDER_UNUSABLE',
      message: expect.stringMatching(/^The folder for trials, “runs”, cannot be created or written: /),
    });
    expect(JSON.stringify([run, await follow(test, id)])).not.toContain(dataDir);
    expect(log.join('')).toContain(join(dataDir, 'runs'));
  });

  it('keeps its finished points when it is cancelled', async () => {
    const test = await startApp();
    // There are sixteen short points, of which some are finished when the first one is shown.
    const sweep = { ...smallScenario().sweep, threads: Array.from({ length: 16 }, (_, index) => index + 1) };
    const { id } = (await start(test, smallScenario({ sweep }))).body;
    await vi.waitFor(async () => expect((await show(test, id)).points.length).toBeGreaterThan(0), waiting);
    await test.post(`/api/runs/${id}/cancel`);
    const run = await untilStatus(test, id, 'cancelled');
    expect(run.points.length).toBeGreaterThan(0);
    expect(run.points.length).toBeLessThan(16);
    expect(run.progress.done).toBeLessThan(16);
    expect(run.endedAtMs).not.toBeNull();
  });

  it('is refused past the maximum number of waiting runs', async () => {
    const test = await startApp();
    for (let count = 0; count < 21; count++) expect((await start(test, endlessScenario())).status).toBe(202);
    expect(await start(test, endlessScenario())).toMatchObject({
      status: 429,
      body: { code: 'RUN_QUEUE_FULL', retryable: true },
    });
  });

  it('is deleted only when it has ended', async () => {
    const test = await startApp();
    const { id } = (await start(test, endlessScenario())).body;
    await untilStatus(test, id, 'running');
    expect((await test.remove(`/api/runs/${id}`)).body).toMatchObject({ code: 'RUN_ACTIVE' });
    await test.post(`/api/runs/${id}/cancel`);
    await untilStatus(test, id, 'cancelled');
    expect((await test.remove(`/api/runs/${id}`)).status).toBe(204);
    expect((await test.get(`/api/runs/${id}`)).status).toBe(404);
  });

  it('does not keep queues from being served', async () => {
    const test = await startApp();
    const { id } = (await start(test, endlessScenario())).body;
    await untilStatus(test, id, 'running');
    await test.post('/api/queues', { name: 'q' });
    await test.post('/api/queues/q/messages', { messages: [{ payload: 'during' }] });
    const { body } = await test.post('/api/queues/q/dequeue', { mode: 'at-most-once' });
    expect(body).toMatchObject({ messages: [{ payload: 'during' }] });
  });
});

describe('the history', () => {
  it('is paged, newest first', async () => {
    const test = await startApp();
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) ids.unshift((await start(test, endlessScenario())).body.id);
    const seen: string[] = [];
    let next: string | null = null;
    do {
      const after: string = next === null ? '' : `&after=${next}`;
      const { body } = await test.get<RunList>(`/api/runs?limit=2${after}`);
      expect(body.runs.length).toBeLessThanOrEqual(2);
      seen.push(...body.runs.map(({ id }) => id));
      next = body.next;
    } while (next !== null);
    expect(seen).toEqual(ids);
  });

  it('has the last verdict of each claim, from a finished run', async () => {
    const test = await startApp();
    const before = (await test.get<ClaimLedger>('/api/claims')).body.claims;
    expect(before.map(({ id }) => id)).toEqual(bundledStudies.claims.map(({ id }) => id));
    expect(before.every(({ last }) => last === null)).toBe(true);
    await runToEnd(test, smallScenario({ claims: ['A2', 'A3'] }));
    const newest = await runToEnd(test, smallScenario());
    const { claims } = (await test.get<ClaimLedger>('/api/claims')).body;
    const last = (id: string) => claims.find((claim) => claim.id === id)?.last;
    expect(last('A1')).toBeNull();
    expect(last('A3')).toMatchObject({ runId: newest.id, scenarioId: 'small', scale: 'quick' });
    expect(last('A2')!.runId).not.toBe(newest.id);
    expect(last('A2')).toMatchObject({ verdict: expect.any(String), reason: expect.any(String) });
    const a3 = claims.find(({ id }) => id === 'A3')!;
    expect(a3.judged).toBe(2);
    expect(a3.history.map(({ runId }) => runId)).toEqual([newest.id, last('A2')!.runId]);
  });

  it('has the verdicts of recorded runs, marked as such, until this machine has its own', async () => {
    const test = await startApp();
    const { id } = await runToEnd(test, smallScenario({ claims: ['A2', 'A3'] }));
    const run = (await test.get<Run>(`/api/runs/${id}`)).body;
    const recordedDir = makeDataDir();
    writeRecorded({ code: 'of another day', run, ticks: [] }, recordedDir);
    const recordedId = 'recorded-small';
    const elsewhere = await startApp({ recordedDir });
    const last = async (claim: string) =>
      (await elsewhere.get<ClaimLedger>('/api/claims')).body.claims.find((each) => each.id === claim)?.last;
    const recordedOn = expect.stringContaining(run.environment!.cpuModel);
    expect(await last('A2')).toMatchObject({ recordedOn, runId: recordedId, runKept: true });
    expect(await last('A3')).toMatchObject({ recordedOn, scenarioId: 'small' });
    expect(await last('A1')).toBeNull();
    const { runs } = (await elsewhere.get<RecordedRunList>('/api/runs/recorded')).body;
    expect(runs).toMatchObject([{ id: recordedId, scenarioId: 'small', recordedOn }]);
    expect((await elsewhere.get<RunList>('/api/runs')).body.runs).toEqual([]);
    await runToEnd(elsewhere, smallScenario());
    expect(await last('A3')).toMatchObject({ recordedOn: null, runKept: true });
    expect(await last('A2')).toMatchObject({ recordedOn });
  });

  it('that is recorded is shown, followed and exported as others are, and never deleted', async () => {
    const test = await startApp();
    const own = await runToEnd(test, smallScenario());
    const tick = ticksOf(await follow(test, own.id))[0]!;
    const recordedDir = makeDataDir();
    writeRecorded({ code: 'of another day', run: own, ticks: [tick] }, recordedDir);
    const elsewhere = await startApp({ recordedDir });
    const id = 'recorded-small';
    const run = await show(elsewhere, id);
    expect(run).toEqual({ ...own, id, recordedOn: expect.stringContaining(own.environment!.cpuModel) });
    const events = await follow(elsewhere, id);
    expect(events).toEqual([{ type: 'snapshot', run, ticks: [tick] }, { type: 'end' }]);
    const csv = (await elsewhere.get<string>(`/api/runs/${id}/export?format=csv`)).body;
    expect(csv.trim().split('\r\n')).toHaveLength(1 + run.points.length);
    expect(await elsewhere.remove(`/api/runs/${id}`)).toMatchObject({
      status: 409,
      body: { code: 'RUN_RECORDED' },
    });
    const cancelled = await elsewhere.post(`/api/runs/${id}/cancel`);
    expect(cancelled).toMatchObject({ status: 409, body: { code: 'RUN_NOT_ACTIVE' } });
  });

  it('shares its verdicts with the command line on the same data folder, and keeps them longer than their runs', async () => {
    const first = await startApp();
    const run = await runToEnd(first, smallScenario());
    // `lab run` stores its verdicts in this way.
    const elsewhere = { ...run, id: 'of-the-command-line', endedAtMs: run.endedAtMs! + 1 };
    await appendVerdicts(first.dataDir, elsewhere);
    const a3 = async (test: TestApp) =>
      (await test.get<ClaimLedger>('/api/claims')).body.claims.find(({ id }) => id === 'A3')!;
    expect(await a3(first)).toMatchObject({ last: { runId: elsewhere.id, runKept: false }, judged: 2 });
    await first.remove(`/api/runs/${run.id}`);
    await first.close();
    // `lab claims` reads its verdicts from here.
    const kept = await readVerdicts(first.dataDir);
    expect(kept.map(({ id, runId }) => [id, runId]).toSorted()).toEqual(
      [
        ['A3', elsewhere.id],
        ['A3', run.id],
      ].toSorted(),
    );
    const second = await startApp({ dataDir: first.dataDir });
    expect((await a3(second)).history.map(({ runId }) => runId)).toEqual([elsewhere.id, run.id]);
  });
});

describe('a run that has ended', () => {
  const app = shareApp();
  let run: Run;
  beforeAll(async () => {
    // The window is long enough for commits and dequeues of both systems on a busy machine.
    const phases = { warmupMs: 0, measureMs: 900, drainMs: 500 };
    run = await runToEnd(app(), smallScenario({ systems: ['sharded', 'unsharded'], phases }));
  });

  it('is exported as a JSON file with its ticks, and is the same after an import', async () => {
    const { status, headers, body } = await app().get(`/api/runs/${run.id}/export`);
    expect(status).toBe(200);
    expect(headers['content-disposition']).toMatch(/^attachment; filename="small-[0-9a-f]{8}\.json"$/);
    const ticks = ticksOf(await follow(app(), run.id));
    expect(ticks.length).toBeGreaterThan(2);
    expect(body).toEqual({ ...run, ticks });
    const imported = await app().post<{ id: string }>('/api/runs/import', body);
    const { id } = imported.body;
    expect((await app().get(`/api/runs/${id}/export`)).body).toEqual({ ...run, ticks, id, imported: true });
    expect(ticksOf(await follow(app(), id))).toEqual(ticks);
  });

  it('is exported as CSV with a row for each point with all of its parameters and figures', async () => {
    const { headers, body } = await app().get<string>(`/api/runs/${run.id}/export?format=csv`);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    const [header, ...rows] = readCsv(body);
    expect(rows).toHaveLength(2);
    for (const [index, point] of run.points.entries()) {
      const cells = Object.fromEntries(header!.map((name, column) => [name, rows[index]![column]]));
      expect(cells).toMatchObject({
        run: run.id,
        system: point.system,
        threads: String(point.params.threads),
        dequeuePerSec: String(figureOf(point, 'dequeuePerSec')),
        'dequeueCallMs.p99': String(distributionOf(point, 'dequeueCall').p99),
        'integrity.lost': '0',
        'waits.log file sync.class': 'commit',
      });
    }
  });

  it('has a stream of two events: a snapshot with its ticks, and the end; the run is sent once', async () => {
    const test = app();
    const events = await follow(test, run.id);
    expect(events.map(({ type }) => type)).toEqual(['snapshot', 'end']);
    const [snapshot, end] = events;
    expect(snapshot).toMatchObject({ run: { id: run.id, status: 'done' } });
    expect(snapshot?.type === 'snapshot' && snapshot.ticks.length).toBeGreaterThan(0);
    expect(snapshot).toMatchObject({ run });
    expect(end).toEqual({ type: 'end' });
    const { body } = await test.get<string>(`/api/runs/${run.id}/events`);
    const endId = body
      .match(/^id: (\d+)$/gm)!
      .at(-1)!
      .slice(4);
    expect((await test.get(`/api/runs/${run.id}/events`, { 'last-event-id': endId })).status).toBe(204);
    expect((await test.get(`/api/runs/${run.id}/events`, { 'last-event-id': '1' })).status).toBe(200);
  });

  it('is not exported in any other format', async () => {
    for (const format of ['html', 'hgrm', 'xml']) {
      expect(await app().get(`/api/runs/${run.id}/export?format=${format}`)).toMatchObject({
        status: 400,
        body: { code: 'REQUEST_INVALID' },
      });
    }
  });
});
