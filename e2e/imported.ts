/** Imports runs that were exported once, with changes that a journey needs, and reads the files that a journey saves of them. */
import { readFileSync } from 'node:fs';
import type { APIRequestContext, Download, Page } from '@playwright/test';
import { expect } from './journey.ts';

export const fixture = (name: string) =>
  readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8');

/** Imports a run of `fixtures/` and returns its id on the server, a new one each time. */
export async function importRun(request: APIRequestContext, name: string, change = {}): Promise<string> {
  const run = { ...JSON.parse(fixture(name)), id: 'made elsewhere', ...change };
  const answer = await request.post('/api/runs/import', { data: run });
  expect(answer.status()).toBe(201);
  return (await answer.json()).id;
}

/** The points of Figure 3; those of the sharded queue have the traces of a trial. */
export function pointsWithLives(): unknown[] {
  const traces = JSON.parse(fixture('traces'));
  const { points } = JSON.parse(fixture('figure-3')) as { points: { system: string }[] };
  return points.map((point) => (point.system === 'sharded' ? { ...point, traces } : point));
}

/** The points of Figure 3, with holders and waiters that a trial of the same system sampled, if there are any. */
export function pointsWithHolders(): { system: string }[] {
  const holders = JSON.parse(fixture('holders')) as Record<string, unknown>;
  const { points } = JSON.parse(fixture('figure-3')) as { points: { system: string }[] };
  return points.map((point) =>
    point.system in holders ? { ...point, holders: holders[point.system] } : point,
  );
}

export const saveReport = (page: Page) => page.getByRole('button', { name: 'Save report' });

export const textOf = async (download: Download) => readFileSync(await download.path(), 'utf8');
