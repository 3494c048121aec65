/** A study in a folder of its own, with which the server was not built, is served like the others. */
import { readFile } from 'node:fs/promises';
import type {
  ClaimLedger,
  ErrorBody,
  RunList,
  Scenario,
  ScenarioList,
  ScenarioValidation,
  StudyList,
} from '@shardlab/contract';
import { bundledStudies, bundledStudyFolder, StudyRegistry } from '@shardlab/lab';
import { expect, it } from 'vitest';
import { runToEnd, startApp } from './start-app.ts';

const folder = new URL('../../../packages/lab/test/toy-studies/', import.meta.url);
const studies = await StudyRegistry.load([bundledStudyFolder, folder]);
const scenario = JSON.parse(
  await readFile(new URL('toy/scenarios/toy-turns.json', folder), 'utf8'),
) as Scenario;

const isZ2 = ({ id }: { id: string }) => id === 'Z2';

it('its document, claims, program and systems are described, and its runs are measured, judged and shown', async () => {
  const server = await startApp({ studies });
  const { get } = server;
  const told = (await get<StudyList>('/api/studies')).body;
  const study = told.studies.find(({ id }) => id === 'toy');
  const program = told.programs.find(({ id }) => id === 'toy-box');
  const systems = told.systems.filter(({ id }) => id.endsWith('-box'));
  const ledger = (await get<ClaimLedger>('/api/claims')).body.claims;
  const claims = ledger.filter((claim) => claim.study === 'toy');
  expect(ledger).toHaveLength(bundledStudies.claims.length + claims.length);

  // The run has a thread of its own, which must load the program of the study itself.
  const run = await runToEnd(server, scenario);
  expect(run).toMatchObject({ status: 'done', error: null });
  expect(run.claims).toMatchObject([
    { id: 'Z1', verdict: 'holds' },
    { id: 'Z2', value: 0.25 },
  ]);
  // The verdicts of a run are stored after its end.
  const measuredClaim = async () => (await get<ClaimLedger>('/api/claims')).body.claims.find(isZ2);
  await expect.poll(measuredClaim).toMatchObject({ study: 'toy', last: { value: 0.25 } });

  // A test of the dashboard reads the same file, so values that differ between machines are left out.
  const points = run.points.map(({ conditions: _, repeats: _all, ...point }) => ({ ...point, repeats: [] }));
  const fixture = new URL('../../web/test/fixtures/toy-study.json', import.meta.url);
  expect({ study, program, systems, claims, scenario: run.scenario, points }).toEqual(
    JSON.parse(await readFile(fixture, 'utf8')),
  );
});

it('its program is in the schema of scenarios, its own scenario is listed as built in, and others are checked by it', async () => {
  const { get, post } = await startApp({ studies });
  const { anyOf } = (
    await get<{ anyOf: { properties: { program: { const: string } } }[] }>('/api/scenario-schema')
  ).body;
  expect(anyOf.map(({ properties }) => properties.program.const)).toContain('toy-box');
  const check = async (changes: Partial<Scenario>) =>
    (await post<ScenarioValidation>('/api/scenarios/validate', { ...scenario, ...changes })).body;
  expect(await check({})).toMatchObject({ valid: true, plan: { points: 3 } });
  expect(await check({ sweep: { children: [9] } })).toMatchObject({
    valid: false,
    errors: [{ path: '/sweep/children/0' }],
  });
  expect((await post('/api/scenarios', { ...scenario, id: 'more-turns' })).status).toBe(201);
  const { scenarios } = (await get<ScenarioList>('/api/scenarios')).body;
  const ofStudy = scenarios.filter(({ scenario: { study } }) => study === 'toy');
  expect(ofStudy.map(({ scenario: { id }, source }) => [id, source])).toEqual([
    ['toy-turns', 'built-in'],
    ['more-turns', 'uploaded'],
  ]);
});

it('a run of a system that is not installed is refused with what it needs, and not queued', async () => {
  const { get, post } = await startApp({ studies });
  const asked = { scenario: { ...scenario, systems: ['wooden-box', 'locked-box'] } };
  const needs = 'locked-box needs its key; ask who locked it';
  const { status, body } = await post<ErrorBody>('/api/runs', asked);
  expect(status).toBe(503);
  expect(body).toMatchObject({
    code: 'SYSTEM_UNAVAILABLE',
    message: needs,
    retryable: false,
    details: { missing: [needs] },
  });
  expect((await get<RunList>('/api/runs')).body.runs).toEqual([]);
});
