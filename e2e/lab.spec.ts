/** The start page, the documents, the pill of the run under way, and the question before a run on a busy machine. */
import { expect, longScenario, machineIs, startRun, test } from './journey.ts';
import { expectReadable } from './readable.ts';

test('the mosaic of claims can be used with the keyboard, and a claim that was judged elsewhere can be run', async ({
  page,
}) => {
  await page.goto('/');
  await expect(page.getByRole('region', { name: 'Result' }).getByRole('heading', { level: 1 })).toContainText(
    'the unsharded one, where each session commits for itself, ',
  );
  const row = page.getByRole('region', { name: 'Oracle Database 12c: JMS Sharded Queues' });
  await row.getByRole('button').first().focus();
  await page.keyboard.press('End');
  const last = row.getByRole('button').last();
  await expect(last).toBeFocused();
  await expect(last).toHaveAccessibleName(/^W10, .+ \(recorded\): /);
  await page.keyboard.press('Enter');
  const opened = page.getByRole('article', { name: 'Claim W10' });
  await expect(opened.getByRole('button', { name: 'Run W10', exact: true })).toBeVisible();
  await expect(page).toHaveURL(/claim=W10/);

  await opened.getByRole('link', { name: 'W10 in its document' }).click();
  await expect(page).toHaveURL(/\/documents\/white-paper#W10$/);
  await expect(
    page.getByRole('heading', { level: 1, name: 'Oracle Database 12c: JMS Sharded Queues' }),
  ).toBeVisible();
  const numbers = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'A2' }) });
  await expect(numbers).toContainText('up to 76K dequeues per second');
  await expect(numbers).toContainText('second paragraph; Figure 3');
  const notBuilt = page.getByRole('region', { name: 'Not built' });
  await expect(notBuilt.getByRole('listitem').filter({ hasText: 'Deduplication of messages' })).toBeVisible();
});

test('the old address of the claims leads to the documents', async ({ page }) => {
  await page.goto('/claims');
  await expect(page).toHaveURL(/\/documents$/);
  const documents = page.getByRole('list', { name: 'Documents' }).locator('> li');
  await expect(documents.first()).toContainText('2015-03');
  await documents.first().getByRole('link').click();
  await expect(page.getByRole('heading', { name: 'Its numbers beside ours' })).toBeVisible();
});

test('a document shows the tables that it prints', async ({ page }) => {
  await page.goto('/documents/listen');
  await page.getByText('Nanoseconds of a get, by powers of two').click();
  const histograms = page.getByRole('region', { name: 'Nanoseconds of a get, by powers of two' });
  await expect(histograms.getByRole('row').filter({ hasText: 'mutex' }).first()).toBeVisible();
  await expectReadable(page);
});

test('a run on a busy machine needs a confirmation', async ({ page, request }) => {
  await machineIs(page, { coresBusy: 1.6, loadRunning: true });
  await page.goto('/scenarios/first-look');
  await page.getByRole('button', { name: 'Run quick' }).click();
  const dialog = page.getByRole('dialog', { name: 'The machine is busy' });
  await expect(dialog).toContainText('Other work keeps 1.6 of 2 cores busy.');
  await expect(dialog).toContainText('The load of the cluster page is on.');
  await dialog.getByRole('button', { name: 'Not now' }).click();
  await expect(dialog).toBeHidden();
  await expect(page, 'nothing was started').toHaveURL(/\/scenarios\/first-look$/);
  await page.getByRole('button', { name: 'Run quick' }).click();
  await dialog.getByRole('button', { name: 'Run anyway' }).click();
  await expect(page).toHaveURL(/\/runs\/[^/]+$/);
  const id = new URL(page.url()).pathname.split('/').at(-1);
  await request.post(`/api/runs/${id}/cancel`);
  await expect(page.getByRole('status', { name: 'Run status' })).toHaveText('Cancelled');
  await expect(page.getByRole('button', { name: 'Run again' })).toBeVisible();
});

test('a pill in the header follows the run under way on every page', async ({ page, request }) => {
  const id = await startRun(request, longScenario('followed'));
  await page.goto('/cluster');
  const pill = page.getByRole('link', { name: /^Run under way: Long: followed, \d+ of 24 trials$/ });
  await expect(pill).toBeVisible();
  await pill.click();
  await expect(page).toHaveURL(new RegExp(`/runs/${id}$`));
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await expect(page.getByRole('link', { name: /^Run under way: Long: followed/ })).toHaveCount(0);
});
