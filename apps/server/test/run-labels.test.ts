import type { ErrorBody, ExportedRun, Run, RunLabels, RunList, Tick } from '@shardlab/contract';
import { newRun } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import { point } from '../../../packages/lab/test/support.ts';
import { shareApp, smallScenario } from './start-app.ts';

const exported = (id: string, change: Partial<Run> = {}): Run => ({
  ...newRun({ id, scenario: smallScenario(), scale: 'quick', createdAtMs: 1 }),
  status: 'done',
  points: [point({ threads: 1, deq: 100, waits: [{}] }), point({ threads: 2, deq: 150, waits: [{}] })],
  ...change,
});
/** Ticks of the first point, four a second. */
const ticksOf = (run: Run, count: number): Tick[] =>
  Array.from({ length: count }, (_, index) => {
    const { program, system, params } = run.points[0]!;
    return { atMs: 250 * index, trial: 0, program, system, params, phase: 'measure', instances: [] };
  });
const idOf = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;

const app = shareApp();
const add = (run: unknown) => app().post<{ id: string } & ErrorBody>('/api/runs/import', run);
const show = async (id: string) => (await app().get<Run>(`/api/runs/${id}`)).body;
const label = (id: string, labels: RunLabels) =>
  app().put<RunLabels & ErrorBody>(`/api/runs/${id}/labels`, labels);
const list = async (text: string) =>
  (await app().get<RunList>(`/api/runs?text=${encodeURIComponent(text)}`)).body.runs.map(({ id }) => id);

describe('an imported run', () => {
  it('is the run that was exported, marked as imported', async () => {
    const run = exported(idOf(1));
    const { status, body } = await add(run);
    expect([status, body.id]).toEqual([201, run.id]);
    expect(await show(run.id)).toEqual({ ...run, imported: true });
    const again = await app().get<Run>(`/api/runs/${run.id}/export`);
    expect(again.body).toEqual({ ...run, imported: true });
  });

  it('keeps its ticks: exported again it has the same, and the stream of its events begins with them', async () => {
    const run = exported(idOf(6));
    const ticks = ticksOf(run, 40);
    expect((await add({ ...run, ticks: ticks.toReversed() })).status).toBe(201);
    expect(await show(run.id), 'a run is read without them').toEqual({ ...run, imported: true });
    const again = (await app().get<ExportedRun>(`/api/runs/${run.id}/export`)).body;
    expect(again).toEqual({ ...run, imported: true, ticks });
    const copy = (await add(again)).body.id;
    expect((await app().get<ExportedRun>(`/api/runs/${copy}/export`)).body.ticks).toEqual(ticks);
    const events = await app().get<string>(`/api/runs/${run.id}/events`);
    const [first] = events.body.split('\n').filter((line) => line.startsWith('data: '));
    expect(JSON.parse(first!.slice('data: '.length))).toMatchObject({ type: 'snapshot', ticks });
  });

  it('keeps as many ticks as a run of this server, evenly spread', async () => {
    const run = exported(idOf(7));
    expect((await add({ ...run, ticks: ticksOf(run, 2_500) })).status).toBe(201);
    const { ticks } = (await app().get<ExportedRun>(`/api/runs/${run.id}/export`)).body;
    expect(ticks).toEqual(ticksOf(run, 2_500).filter((_, index) => index % 2 === 0));
  });

  it('gets a new id if its id is taken or has another format', async () => {
    const twice = (await add(exported(idOf(1)))).body.id;
    const strange = (await add(exported('../../etc'))).body.id;
    for (const id of [twice, strange]) expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set([idOf(1), twice, strange]).size).toBe(3);
  });

  it('has verdicts of another machine, which do not count as verdicts of this one', async () => {
    const claim = {
      id: 'A3',
      title: 't',
      document: 'd',
      grade: 'table',
      weak: null,
      disturbed: false,
      verdict: 'holds',
      value: 1,
      unit: '×',
      interval: null,
      repeats: 1,
      provenance: 'measured',
      provisional: true,
      reason: 'r',
      clauses: [],
    } as Run['claims'][number];
    const { status } = await add(exported(idOf(2), { claims: [claim] }));
    expect(status).toBe(201);
    const { body } = await app().get<{ claims: { id: string; judged: number }[] }>('/api/claims');
    expect(body.claims.find(({ id }) => id === 'A3')!.judged).toBe(0);
  });

  it('is refused if it has not ended, if its scenario cannot be read, if it is not a run, or if its points or ticks have wrong parameters', async () => {
    const running = await add(exported(idOf(3), { status: 'running' }));
    expect([running.status, running.body.code]).toEqual([409, 'RUN_ACTIVE']);
    const unknown = await add(
      exported(idOf(3), { scenario: { ...smallScenario(), program: 'no-such' } as never }),
    );
    expect([unknown.status, unknown.body.code]).toEqual([422, 'SCENARIO_INVALID']);
    expect((await add({ id: 'x' })).status).toBe(400);
    const [good] = exported(idOf(3)).points;
    const params = { ...good!.params, threads: 'many', instances: 0 };
    const wrong = await add(
      exported(idOf(3), { points: [good!, { ...good!, params }, { ...good!, program: 'none' }] }),
    );
    expect([wrong.status, wrong.body.code]).toEqual([422, 'RUN_INVALID']);
    expect(wrong.body.details).toMatchObject({
      errors: [
        { path: '/points/1/params/instances' },
        { path: '/points/1/params/threads' },
        { path: '/points/2/program', message: 'There is no program "none"' },
      ],
    });
    const strange = ticksOf(exported(idOf(3)), 3).map((tick) => ({ ...tick, program: 'none' }));
    const replayed = await add({ ...exported(idOf(3)), ticks: strange });
    expect(replayed.body.details).toMatchObject({ errors: [{ path: '/ticks/0/program' }] });
    expect(await list(idOf(3))).toEqual([]);
  });
});

describe('the numbers and texts of an imported run', () => {
  const change = (path: string, value: string) =>
    JSON.stringify(exported(idOf(8))).replace(new RegExp(`"${path}":[^,}]*`), `"${path}":${value}`);

  it('may follow a byte order mark', async () => {
    const { status } = await app().postText('/api/runs/import', `\ufeff${JSON.stringify(exported(idOf(8)))}`);
    expect(status).toBe(201);
    expect((await show(idOf(8))).status).toBe('done');
  });

  it.each([
    ['startedAtMs', '1795792502560000000', '/startedAtMs'],
    ['endedAtMs', '-1', '/endedAtMs'],
    ['createdAtMs', '8640000000000001', '/createdAtMs'],
    ['total', '9007199254740993', '/progress/total'],
    ['lost', '1e400', '/points/0/integrity/lost'],
    ['value', '1.7e308', '/points/0/figures/'],
  ])('are refused out of their bounds: %s', async (name, value, path) => {
    const { status, body } = await app().postText('/api/runs/import', change(name, value));
    expect([status, body.code]).toEqual([400, 'REQUEST_INVALID']);
    expect((body as unknown as { errors: { path: string }[] }).errors[0]!.path).toContain(path);
  });

  it('are refused if a field is given twice, with both places', async () => {
    const text = JSON.stringify(exported(idOf(9)), null, 2).replace(
      '"status":',
      '"scale": "full",\n  "status":',
    );
    const { status, body } = await app().postText('/api/runs/import', text);
    expect([status, body.code]).toEqual([400, 'REQUEST_INVALID']);
    expect(body.message).toMatch(
      /^The body is not valid: \/scale: The field is given twice: at line \d+, column 3, and/,
    );
  });
});

describe('labels', () => {
  it('are kept with the run and found by a search, in upper or lower case', async () => {
    await add(exported(idOf(4)));
    const labels = { name: 'Slow disk 100%', note: 'after the move', baseline: true };
    expect((await label(idOf(4), labels)).status).toBe(200);
    expect((await show(idOf(4))).labels).toEqual(labels);
    expect(await list('slow DISK')).toEqual([idOf(4)]);
    expect(await list('the move')).toEqual([idOf(4)]);
    expect(await list('%')).toEqual([idOf(4)]);
    expect(await list('no such text')).toEqual([]);
  });

  it('mark at most one run of a scenario as its baseline, the last one that was marked', async () => {
    await add(exported(idOf(5)));
    await label(idOf(4), { name: '', note: '', baseline: true });
    await label(idOf(5), { name: '', note: '', baseline: true });
    expect((await show(idOf(5))).labels?.baseline).toBe(true);
    expect((await show(idOf(4))).labels).toBeUndefined();
  });

  it('are refused for an unknown run, and beyond their limits', async () => {
    const none = { name: '', note: '', baseline: false };
    expect((await label(idOf(9), none)).body.code).toBe('RUN_NOT_FOUND');
    expect((await label(idOf(4), { ...none, name: 'x'.repeat(121) })).status).toBe(400);
  });
});
