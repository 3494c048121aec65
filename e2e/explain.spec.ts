/** Where the time of runs goes, how runs compare, and what is kept of them. The runs were exported once and are imported. */
import { readFileSync } from 'node:fs';
import type { APIRequestContext, Download } from '@playwright/test';
import { expect, test } from './journey.ts';
import { expectReadable, showIn, sizes, themes } from './readable.ts';

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8');

/** The id under which the server keeps the run, a new one each time. */
async function importRun(request: APIRequestContext, name: string, change = {}): Promise<string> {
  const run = { ...JSON.parse(fixture(name)), id: 'made elsewhere', ...change };
  const answer = await request.post('/api/runs/import', { data: run });
  expect(answer.status()).toBe(201);
  return (await answer.json()).id;
}

const textOf = async (download: Download) => readFileSync(await download.path(), 'utf8');

const pages: { name: string; address(request: APIRequestContext): Promise<string> }[] = [
  { name: 'explain', address: async (request) => `/runs/${await importRun(request, 'figure-3')}/explain` },
  {
    name: 'explain-pairs',
    address: async (request) => `/runs/${await importRun(request, 'listen-pairs')}/explain`,
  },
  {
    name: 'explain-herd',
    address: async (request) => `/runs/${await importRun(request, 'listen-herd')}/explain`,
  },
  {
    name: 'compare',
    address: async (request) => {
      const runs = [
        await importRun(request, 'figure-3'),
        await importRun(request, 'figure-3', { scale: 'full' }),
      ];
      return `/compare?runs=${encodeURIComponent(JSON.stringify(runs))}`;
    },
  },
];

test.describe.configure({ mode: 'parallel' });

for (const { name, address } of pages) {
  test(`${name} in both themes, on a desktop and on a phone`, async ({ page, request }) => {
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    const url = await address(request);
    for (const size of sizes) {
      await showIn(page, themes[0], size);
      await page.goto(url);
      await expect(page.getByRole('button', { name: 'Save report' })).toBeVisible();
      for (const theme of themes) {
        await showIn(page, theme, size);
        await expectReadable(page, theme);
        expect(errors, 'errors in the page').toEqual([]);
      }
    }
  });
}

test('a bar is chosen by keyboard, explained, and compared with another; links keep the choice', async ({
  page,
  request,
}) => {
  const run = await importRun(request, 'figure-3');
  await page.goto(`/runs/${run}`);
  await page.getByRole('link', { name: 'Explain', exact: true }).click();
  const cursor = page.getByRole('slider', { name: 'Active sessions by wait event: cursor' });
  await cursor.press('Home');
  await expect(cursor).toHaveAttribute('aria-valuetext', /^sharded, 1 thread: /);
  await cursor.press('End');
  await cursor.press('Enter');
  await expect(page.getByRole('heading', { name: 'unsharded-grouped, 32 threads' })).toBeVisible();
  await page.getByRole('button', { name: 'write lock' }).click();
  await expect(page.getByRole('heading', { name: 'Durations of write lock' })).toBeVisible();
  const helps = page.getByRole('region', { name: 'What would help: write lock' });
  await expect(helps.getByRole('link', { name: /^What if: Ten times as many messages/ })).toHaveAttribute(
    'href',
    new RegExp(`operations=100.*run=.*${run}`),
  );
  await page.getByLabel('From').selectOption({ label: 'sharded, 32 threads' });
  const change = page.getByRole('slider', { name: 'Time of a message, from one point to the other: cursor' });
  await expect(change).toHaveAttribute('aria-valuetext', /: [+−]/);
  await page.getByText('Time a message', { exact: true }).click();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'unsharded-grouped, 32 threads' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Time of a message by wait event' })).toBeVisible();
  await expect(change).toBeVisible();
  await helps.getByRole('link', { name: /^What if: Ten times/ }).click();
  await expect(page).toHaveURL(/\/what-if\?.*operations=100/);
});

test('what is saved says where it comes from: a picture, a table, percentiles, a report that opens offline', async ({
  page,
  request,
  browser,
}) => {
  const run = await importRun(request, 'figure-3');
  await page.goto(`/runs/${run}/explain`);
  const chart = page.getByRole('figure', { name: 'Active sessions by wait event' });
  const save = async (item: string) => {
    await chart.getByLabel('Save: Active sessions by wait event').click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      chart.getByRole('button', { name: item }).click(),
    ]);
    return download;
  };
  const picture = await textOf(await save('SVG image'));
  expect(picture).toContain('write lock');
  expect(picture).toContain(`${run.slice(0, 8)}.<`);
  expect(picture).toContain('white-paper-figure-3: measured, scale quick, 1 repeat.');
  expect((await save('PNG image')).suggestedFilename()).toMatch(/\.png$/);
  expect(await textOf(await save('CSV data'))).toContain('unsharded-grouped,32 threads,');
  const [percentiles] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save commit.hgrm' }).click(),
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
  expect(failures).toEqual([]);
  await offline.close();
});

test('a run is imported, named, found and compared, and deleted again', async ({ page, request }) => {
  const other = await importRun(request, 'figure-3', { scale: 'full' });
  await page.goto('/runs');
  await page.getByLabel('Import a run').setInputFiles({
    name: 'run.json',
    mimeType: 'application/json',
    buffer: Buffer.from(fixture('figure-3')),
  });
  await expect(page).toHaveURL(/\/runs\/[0-9a-f-]{36}/);
  const id = new URL(page.url()).pathname.split('/').at(-1)!;
  await page.goto('/runs');
  await page.getByRole('button', { name: new RegExp(`^Edit .*run ${id.slice(0, 8)}$`) }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Before the move');
  await dialog.getByLabel('Note').fill('in the old rack');
  await dialog.getByLabel('Baseline of its scenario').check();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByLabel('Filter').fill('OLD RACK');
  const row = page.getByRole('row').filter({ hasText: 'Before the move' });
  await expect(row).toContainText('baseline');
  await expect(page.getByRole('row')).toHaveCount(2);
  await row.getByRole('checkbox').check();
  await page.getByLabel('Filter').fill(other.slice(0, 13));
  await page.getByRole('checkbox', { name: new RegExp(other.slice(0, 8)) }).check();
  await page.getByRole('link', { name: 'Compare 2 runs' }).click();
  await expect(page.getByRole('list', { name: 'Compared runs' })).toContainText('Before the move');
  const differences = page.getByRole('region', { name: 'Difference of configuration' });
  await expect(differences.getByRole('row', { name: /^scale quick full/ })).toBeVisible();
  await expect(page.getByRole('list', { name: 'In words' })).toContainText('1.00 × the baseline');
  await page.goto('/runs');
  await page.getByLabel('Filter').fill('old rack');
  await page.getByRole('button', { name: /^Edit Before the move/ }).click();
  await dialog.getByRole('button', { name: 'Delete…' }).click();
  await dialog.getByRole('button', { name: 'Delete for good' }).click();
  await expect(page.getByText('No run contains “old rack”.')).toBeVisible();
});
