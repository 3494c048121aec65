/** The reference of the API on the dashboard: a call is found by a word and opened, and its example works in a shell. */
import { execFileSync } from 'node:child_process';
import { expect, test } from './journey.ts';
import { open } from './pages.ts';

test('a call is found, opened by keyboard, and its example creates a queue', async ({ page }) => {
  await open(page, '/');
  await page.getByRole('link', { name: 'API', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'API reference' })).toBeVisible();
  await page.getByRole('searchbox', { name: 'Search' }).fill('create a queue');
  await expect(page.getByRole('status').filter({ hasText: /^1 call of \d+/ })).toBeVisible();
  await expect(page).toHaveURL(/text=create/);
  const summary = page.locator('summary', { hasText: '/api/queues' });
  await summary.focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/call=post-api-queues/);
  const body = page.getByRole('region', { name: 'Body' });
  await expect(body.getByRole('listitem').filter({ hasText: /^name/ })).toContainText('required');
  await expect(page.getByRole('region', { name: 'Answers' })).toContainText('409');

  const example = await page.getByRole('region', { name: 'Example with curl' }).textContent();
  const answer = execFileSync('/bin/sh', ['-c', `${example} --silent --fail-with-body`], {
    encoding: 'utf8',
  });
  expect(JSON.parse(answer)).toMatchObject({ name: 'name', kind: 'sharded' });
});

test('a link to a call opens it, with nested fields', async ({ page }) => {
  await open(page, '/docs?call=get-api-runs-id');
  const answers = page.getByRole('region', { name: 'Answers' });
  await expect(answers).toBeInViewport();
  await answers.getByRole('button', { name: 'Fields of points', exact: true }).first().click();
  await expect(answers.getByRole('list', { name: 'Fields of points' })).toContainText('latencies');
});
