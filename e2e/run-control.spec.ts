/** Cancelling, reloading and leaving a run while it continues. */
import type { Page } from '@playwright/test';
import { expect, longScenario, readRun, shortScenario, startRun, test } from './journey.ts';

// Most users have animations, so they are tested on the run page too.
test.beforeEach(({ page }) => page.emulateMedia({ reducedMotion: 'no-preference' }));

const statusOf = (page: Page) => page.getByRole('status', { name: 'Run status' });
const pointRows = (page: Page) => page.getByRole('tabpanel', { name: 'Points' }).getByRole('row');

test('a cancelled run keeps the points that it had', async ({ page, request }) => {
  const id = await startRun(request, longScenario('cancelled-on-the-way'));
  await page.goto(`/runs/${id}`);
  await expect(pointRows(page).nth(2), 'two points').toBeVisible({ timeout: 90_000 });
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await expect(statusOf(page)).toHaveText('Cancelled');
  await expect(page.getByText('the points finished before it was cancelled are kept')).toBeVisible();

  const run = await readRun(request, id);
  expect(run.status).toBe('cancelled');
  expect(run.points.length).toBeGreaterThanOrEqual(2);
  expect(run.points.length).toBeLessThan(run.progress.total);
  await expect(pointRows(page)).toHaveCount(1 + run.points.length);
  await page.reload();
  await expect(pointRows(page)).toHaveCount(1 + run.points.length);
});

test('a reload in mid-run shows the run so far and continues to the end; a run that is exported and imported is replayed', async ({
  page,
  request,
}) => {
  test.setTimeout(300_000);
  const sweep = { instances: [1], threads: [1, 4] };
  const id = await startRun(request, shortScenario('first-look', { sweep, kills: false }));
  await page.goto(`/runs/${id}`);
  await expect(pointRows(page).nth(2)).toBeVisible({ timeout: 90_000 });
  await page.reload();
  await expect(pointRows(page).nth(2), 'the points from before').toBeVisible();
  await expect(statusOf(page), 'still under way').toHaveText('Running');
  await expect(statusOf(page)).toHaveText('Done', { timeout: 240_000 });
  const run = await readRun(request, id);
  expect(run.points).toHaveLength(run.progress.total);
  await expect(pointRows(page)).toHaveCount(1 + run.points.length);

  // The run is exported and imported again, and then replayed.
  const strip = page.getByRole('slider', { name: 'Trials: time that is shown' });
  const replayed = await strip.getAttribute('aria-valuemax');
  expect(Number(replayed)).toBeGreaterThan(0);
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export JSON' }).click(),
  ]);
  await page.goto('/runs');
  await page.getByLabel('Import a run').setInputFiles(await file.path());
  await expect(page).toHaveURL(/\/runs\/[0-9a-f-]{36}/);
  await expect(page).not.toHaveURL(new RegExp(id));
  await expect(page.getByText('Imported', { exact: true })).toBeVisible();
  await expect(strip).toHaveAttribute('aria-valuemax', replayed!);
  await expect(page.getByRole('region', { name: 'Over time' }).getByRole('figure').first()).toBeVisible();
});

test('a run to completion shows its trials over time, with the backlog and without a topology', async ({
  page,
  request,
}) => {
  const scenario = shortScenario('redis-one-thread', { sweep: { messages: [1_000, 2_000] }, kills: false });
  const quick = { ...(scenario.quick as object), systems: ['null', 'buffered'] };
  const id = await startRun(request, { ...scenario, quick });
  await page.goto(`/runs/${id}`);
  await expect(statusOf(page)).toHaveText('Done', { timeout: 90_000 });
  await expect(page.getByText('4 trials: a frame each')).toBeVisible();
  const strip = page.getByRole('slider', { name: 'Trials: time that is shown' });
  for (const key of ['End', 'Home']) await strip.press(key);
  await expect(strip).toHaveAttribute('aria-valuetext', /null/);
  const overTime = page.getByRole('region', { name: 'Over time' });
  for (const name of ['Rate', 'Backlog', 'CPU by instance', 'Waits by class'])
    await expect(overTime.getByRole('figure', { name, exact: true })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Topology', exact: true })).toHaveCount(0);
});

test('a second run waits for the first, and both are listed', async ({ page, request }) => {
  const first = await startRun(request, longScenario('first-in-line'));
  const second = await startRun(request, longScenario('second-in-line'));
  await page.goto(`/runs/${second}`);
  await expect(statusOf(page)).toHaveText('Queued');
  await expect(page.getByText('Waiting for the previous run to finish.')).toBeVisible();
  expect((await request.post(`/api/runs/${first}/cancel`)).ok()).toBe(true);
  await expect(statusOf(page)).toHaveText('Running');
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await expect(statusOf(page)).toHaveText('Cancelled');

  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  const rowOf = (name: string) => page.getByRole('row').filter({ hasText: `Long: ${name}` });
  await expect(rowOf('first-in-line')).toContainText('Cancelled');
  await expect(rowOf('second-in-line')).toContainText('Cancelled');
});
