/** What the dashboard saves of a run: pictures, tables, percentiles, and reports that open offline. */
import { importRun, saveReport, textOf } from './imported.ts';
import { expect, test } from './journey.ts';

/** A claim as a judge returns it, for a run that was exported without claims. */
const judgedClaim = () => {
  const judged = {
    value: 3.4,
    unit: '× one instance',
    interval: null,
    repeats: 1,
    provisional: true,
    reason: 'The rate at 2 instances is 3.4 times that at one.',
  };
  const clause = {
    ...judged,
    condition: null,
    provenance: 'measured',
    statement: 'the rate rises',
    verdict: 'holds',
  };
  return {
    ...judged,
    id: 'A1',
    title: 'Sharded dequeues scale',
    document: 'The rate rises with the number of instances.',
    grade: 'prose',
    weak: null,
    verdict: 'mixed',
    provenance: 'measured',
    disturbed: false,
    clauses: [
      clause,
      { ...clause, condition: 'as it is', statement: 'it doubles', verdict: 'does-not-hold' },
    ],
  };
};

test('saved files have their provenance: a picture, a table, percentiles, and a report that opens offline', async ({
  page,
  request,
  browser,
}) => {
  const run = await importRun(request, 'figure-3');
  await page.goto(`/runs/${run}/explain`);
  const chart = page.getByRole('figure', { name: 'Active sessions by wait event' });
  const save = async (item: string) => {
    await chart.getByRole('button', { name: 'Save: Active sessions by wait event' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: item }).click(),
    ]);
    return download;
  };
  const picture = await textOf(await save('SVG image'));
  expect(picture).toContain('write lock');
  expect(picture).toContain(`${run.slice(0, 8)}.<`);
  expect(picture).toContain('white-paper-figure-3: measured, scale quick, 1 repeat.');
  expect((await save('PNG image')).suggestedFilename()).toMatch(/\.png$/);
  expect(await textOf(await save('CSV data'))).toContain('grouped unsharded,32 threads,');
  const [percentiles] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save percentiles of commit' }).click(),
  ]);
  expect(await textOf(percentiles)).toContain('1/(1-Percentile)');
  const [report] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save report' }).click(),
  ]);
  const offline = await browser.newContext({ offline: true });
  const reader = await offline.newPage();
  const failures: string[] = [];
  reader.on('requestfailed', (failed) => failures.push(failed.url()));
  await reader.setContent(await textOf(report));
  await expect(reader.getByRole('heading', { name: 'Active sessions by wait event' })).toBeVisible();
  await expect(reader.getByRole('heading', { level: 1 })).toContainText('Where the time goes');
  await page.goto(`/runs/${await importRun(request, 'figure-3', { claims: [judgedClaim()] })}`);
  const [ofRun] = await Promise.all([page.waitForEvent('download'), saveReport(page).click()]);
  const runReport = await textOf(ofRun);
  await reader.setContent(runReport);
  for (const name of [
    'Result',
    'Where the figures come from',
    'A1: Sharded dequeues scale',
    /^Dequeue rate over threads/,
  ])
    await expect(reader.getByRole('heading', { level: 2, name }).first()).toBeVisible();
  await expect(reader.getByText('Does not hold here, provisional: as it is: it doubles')).toBeVisible();
  const pictures = reader.locator('svg');
  await expect(pictures.first()).toContainText('white-paper-figure-3: measured');
  for (const picture of await pictures.all()) await expect(picture).toContainText('Shardlab, ');
  expect(failures).toEqual([]);
  await offline.close();
});
