/** The list of runs: they are imported, named, found, ordered, compared and deleted. */
import { fixture, importRun } from './imported.ts';
import { expect, test } from './journey.ts';

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
  await expect(differences.getByRole('row', { name: /^Scale quick full/ })).toBeVisible();
  await expect(page.getByRole('list', { name: 'In words' })).toContainText('1.00 × the baseline');
  await page.goto('/runs');
  await page.getByLabel('Filter').fill('old rack');
  await page.getByRole('button', { name: /^Edit Before the move/ }).click();
  await dialog.getByRole('button', { name: 'Delete…' }).click();
  await dialog.getByRole('button', { name: 'Delete for good' }).click();
  await expect(page.getByText('No run contains “old rack”.')).toBeVisible();
});

test('the list of runs is ordered, filtered and paged, and its address keeps that', async ({
  page,
  request,
}) => {
  const { scenario } = JSON.parse(fixture('figure-3'));
  const imported = async (title: string, minutes: number, change = {}) =>
    importRun(request, 'figure-3', {
      scenario: { ...scenario, id: 'list-of-runs', title },
      points: [],
      startedAtMs: 0,
      endedAtMs: minutes * 60_000,
      ...change,
    });
  await imported('Listed quinces', 3);
  await imported('Listed apples', 40, { scale: 'full' });
  for (let index = 0; index < 26; index += 1) await imported(`Listed pears ${index + 10}`, 5);
  await page.goto('/runs');
  await page.getByLabel('Filter').fill('list-of-runs');
  const titles = page.getByRole('rowheader');
  await expect(titles).toHaveCount(25);
  await expect(titles.first()).toContainText('Listed pears 35');
  await page.getByRole('button', { name: 'Show more runs' }).click();
  await expect(titles).toHaveCount(28);
  await page.getByRole('button', { name: 'Scenario' }).click();
  await expect(page.getByRole('columnheader', { name: 'Scenario' })).toHaveAttribute(
    'aria-sort',
    'ascending',
  );
  await expect(titles.first()).toContainText('Listed apples');
  await page.getByRole('button', { name: 'Duration' }).click();
  await expect(titles.first()).toContainText('Listed apples');
  await page.getByRole('button', { name: 'Duration' }).click();
  await expect(titles.first()).toContainText('Listed quinces');
  await page.getByLabel('Scale').selectOption('full');
  await expect(titles).toHaveCount(1);
  await page.reload();
  await expect(titles).toHaveCount(1);
  await expect(titles).toContainText('Listed apples');
  await expect(page.getByLabel('Filter')).toHaveValue('list-of-runs');
  await page.getByLabel('Scale').selectOption('quick');
  await page.getByLabel('Status').selectOption('failed');
  await expect(page.getByText('No run of those chosen above contains “list-of-runs”.')).toBeVisible();
});
