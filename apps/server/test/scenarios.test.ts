import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type {
  ErrorBody,
  Fault,
  LessonList,
  ScenarioEntry,
  ScenarioList,
  ScenarioValidation,
} from '@shardlab/contract';
import { describe, expect, it } from 'vitest';
import { smallScenario, startApp } from './start-app.ts';

type Refused = ErrorBody & { errors: Fault[] };
const figure3 = readFileSync(
  new URL('../../../scenarios/white-paper-figure-3.json', import.meta.url),
  'utf8',
);

describe('scenarios', () => {
  it('have the same schema as the scenario files of the repository', async () => {
    const { get } = await startApp();
    const file = new URL('../../../scenarios/scenario.schema.json', import.meta.url);
    expect((await get('/api/scenario-schema')).body).toEqual(JSON.parse(readFileSync(file, 'utf8')));
  });

  it('of the repository are listed with the plan of a run', async () => {
    const { get } = await startApp();
    const { body } = await get<ScenarioList>('/api/scenarios');
    const ids = body.scenarios.map(({ scenario }) => scenario.id);
    expect(ids).toEqual(expect.arrayContaining(['first-look', 'white-paper-figure-3']));
    for (const { source, plans } of body.scenarios) {
      expect(source).toBe('built-in');
      expect(plans.quick.estimatedMs).toBeGreaterThan(0);
      expect(plans.full.trials).toBeGreaterThanOrEqual(plans.quick.trials);
    }
  });

  it('of lessons are found by their id but not listed', async () => {
    const { get, post, postText, remove } = await startApp();
    const { lessons } = (await get<LessonList>('/api/lessons')).body;
    const ids = lessons.map(({ lesson }) => lesson.scenario.id);
    expect(ids.slice(0, 2)).toEqual(['lesson-sharding', 'lesson-group-commit']);
    const listed = (await get<ScenarioList>('/api/scenarios')).body.scenarios;
    expect(listed.filter(({ scenario }) => ids.includes(scenario.id))).toEqual([]);
    for (const { lesson, estimatedMs } of lessons) {
      const { body } = await get<ScenarioEntry>(`/api/scenarios/${lesson.scenario.id}`);
      expect(body.scenario).toEqual(lesson.scenario);
      expect(estimatedMs).toBe(body.plans.quick.estimatedMs);
      expect(estimatedMs).toBeLessThanOrEqual(30_000);
    }
    const { scenario } = lessons[0]!.lesson;
    expect(await postText('/api/scenarios', JSON.stringify(scenario))).toMatchObject({
      status: 409,
      body: { code: 'SCENARIO_EXISTS' },
    });
    expect(await remove(`/api/scenarios/${scenario.id}`)).toMatchObject({
      status: 409,
      body: { code: 'SCENARIO_BUILT_IN' },
    });
    expect((await post('/api/runs', { scenario: scenario.id })).status).toBe(202);
  });

  it('are uploaded, replaced, shown and deleted, and survive a restart', async () => {
    const test = await startApp();
    const text = JSON.stringify(smallScenario());
    expect(await test.postText('/api/scenarios', text)).toMatchObject({
      status: 201,
      body: { id: 'small' },
      headers: { location: '/api/scenarios/small' },
    });
    await test.postText('/api/scenarios', JSON.stringify(smallScenario({ title: 'Second version' })));
    await test.close();

    const again = await startApp({ dataDir: test.dataDir });
    const { body } = await again.get<ScenarioEntry>('/api/scenarios/small');
    expect(body).toMatchObject({
      source: 'uploaded',
      scenario: { title: 'Second version' },
      plans: { quick: { points: 1, trials: 1 } },
    });
    const listed = (await again.get<ScenarioList>('/api/scenarios')).body.scenarios;
    expect(listed.filter(({ scenario }) => scenario.id === 'small')).toHaveLength(1);
    expect((await again.remove('/api/scenarios/small')).status).toBe(204);
    expect((await again.get('/api/scenarios/small')).status).toBe(404);
    expect((await again.remove('/api/scenarios/small')).status).toBe(404);
  });

  it('that are built in can neither be replaced nor deleted', async () => {
    const { postText, remove } = await startApp();
    expect(await postText('/api/scenarios', figure3)).toMatchObject({
      status: 409,
      body: { code: 'SCENARIO_EXISTS' },
    });
    expect(await remove('/api/scenarios/first-look')).toMatchObject({
      status: 409,
      body: { code: 'SCENARIO_BUILT_IN' },
    });
  });

  it('with faults are refused with each at its path', async () => {
    const { postText, get } = await startApp();
    const scenario = {
      ...smallScenario(),
      colour: 'red',
      seed: 'one',
      sweep: { ...smallScenario().sweep, threads: [1e9] },
    };
    const { status, body } = await postText<Refused>('/api/scenarios', JSON.stringify(scenario));
    expect([status, body.code]).toEqual([422, 'SCENARIO_INVALID']);
    expect(body.errors.map(({ path }) => path)).toEqual(['/colour', '/seed', '/sweep/threads/0']);
    expect(body.errors[2]?.message).toContain('256');
    expect((await get('/api/scenarios/small')).status).toBe(404);
  });

  it('that are not JSON are refused with line and column', async () => {
    const { postText } = await startApp();
    const { status, body } = await postText<Refused>('/api/scenarios', '{\n  "version": 1,\n  "id" "x"\n}');
    expect([status, body.code]).toEqual([422, 'SCENARIO_INVALID']);
    expect(body.details).toMatchObject({ line: 3, column: 8 });
  });

  it('may begin with a byte order mark, and give no field twice', async () => {
    const { postText } = await startApp();
    const text = JSON.stringify(smallScenario());
    for (const url of ['/api/scenarios', '/api/scenarios/validate'])
      expect((await postText(url, `\ufeff${text}`)).status).toBeLessThan(300);
    const twice = text.replace('"seed":', '"seed":1,"seed":');
    const { status, body } = await postText<Refused>('/api/scenarios', twice);
    expect([status, body.code, body.errors[0]!.path]).toEqual([422, 'SCENARIO_INVALID', '/seed']);
    const started = await postText<Refused>('/api/runs', `{"scenario":${twice}}`);
    expect([started.status, started.body.errors[0]!.path]).toEqual([400, '/scenario/seed']);
    expect(started.body.details).toEqual({
      errors: [{ path: '/scenario/seed', message: expect.stringContaining('given twice') }],
      places: [expect.anything(), expect.anything()],
    });
  });

  it('over their limit are refused with the same error, by a little or by far', async () => {
    const { postText } = await startApp();
    const ofBytes = (bytes: number) => JSON.stringify({ ...smallScenario(), question: 'x'.repeat(bytes) });
    expect(await postText('/api/scenarios', ofBytes(257 * 1024))).toMatchObject({
      status: 413,
      body: { code: 'SCENARIO_TOO_LARGE' },
    });
    expect(await postText('/api/scenarios', ofBytes(2 * 1024 * 1024))).toMatchObject({
      status: 413,
      body: { code: 'REQUEST_TOO_LARGE' },
    });
  });

  it('need a body that is JSON', async () => {
    const { post, postText } = await startApp();
    expect((await post('/api/scenarios')).status).toBe(400);
    expect((await postText('/api/scenarios', '{}', 'text/plain')).status).toBe(415);
  });
});

describe('a check of a scenario', () => {
  it('has the plan of a run at the requested scale', async () => {
    const { postText } = await startApp();
    const check = (query: string) => postText<ScenarioValidation>(`/api/scenarios/validate${query}`, figure3);
    const [quick, full, byDefault] = [
      await check('?scale=quick'),
      await check('?scale=full'),
      await check(''),
    ];
    expect(quick.body).toMatchObject({ valid: true, errors: [] });
    expect(quick.body.diskBytesMax).toBeGreaterThan(1_000_000);
    expect(quick.body.load).toMatchObject({ isPaced: false, cores: availableParallelism() });
    expect([quick, full].map(({ body }) => [body.load!.sessionsMax, body.load!.processesMax])).toEqual([
      [64, 4],
      [64, 8],
    ]);
    expect(full.body.plan!.trials).toBeGreaterThan(quick.body.plan!.trials);
    expect(byDefault.body).toEqual(quick.body);
    expect((await check('?scale=huge')).status).toBe(400);
  });

  it('has status 200 with the faults, or with the place at which a text is not JSON', async () => {
    const { postText } = await startApp();
    const check = (text: string) => postText<ScenarioValidation>('/api/scenarios/validate', text);
    expect(await check('{"version": 1,}')).toMatchObject({
      status: 200,
      body: { valid: false, line: 1, column: expect.any(Number), plan: null, load: null },
    });
    const { body } = await check('{"version": 3, "__proto__": {}}');
    expect(body.errors.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/version', '/__proto__', '/id']),
    );
  });
});
