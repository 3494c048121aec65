/** A server with a key, in a browser: the login, the session on every page and stream, and the logout. */
import type { Page } from '@playwright/test';
import { test as base, expect } from './journey.ts';
import { expectReadableEverywhere } from './readable.ts';
import { LabServer } from './server.ts';
import { expectWholeAtAllWidths } from './whole.ts';

const key = 'a key for journeys';

const test = base.extend<object, { server: LabServer }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern
    async ({}, use, { workerIndex }) => {
      const server = await LabServer.start(`server-with-key-${workerIndex}.log`, { SHARDLAB_KEY: key });
      await use(server);
      await server.stop();
    },
    { scope: 'worker', timeout: 90_000 },
  ],
});

async function logIn(page: Page, typed = key) {
  await page.getByLabel('Key', { exact: true }).fill(typed);
  await page.getByRole('button', { name: 'Log in' }).click();
}

test('the key opens the dashboard: pages, calls and event streams', async ({ page }) => {
  await page.goto('/queues?queue=none');
  await expect(page).toHaveURL(/\/login\?next=%2Fqueues%3Fqueue%3Dnone$/);
  await logIn(page, 'not the key');
  await expect(page.getByRole('alert')).toContainText('The key is wrong');
  await logIn(page);
  await expect(page).toHaveURL(/\/queues\?queue=none$/);

  const create = page.getByRole('form', { name: 'Create a queue' });
  await create.getByLabel('Name').fill('behind-the-key');
  await create.getByRole('button', { name: 'Create queue' }).click();
  await expect(page.getByRole('heading', { level: 2, name: 'behind-the-key' })).toBeVisible();

  await page.getByRole('link', { name: 'Cluster' }).click();
  await expect(page.getByRole('heading', { name: 'Instance 1', exact: true })).toBeVisible();
  await page.reload();
  await expect(page.getByText('The connection to the server is lost.')).toHaveCount(0);
  await page.goto('/docs');
  await expect(page.getByText('Several enqueues, acknowledgements').first()).toBeVisible();

  const cookies = await page.context().cookies();
  expect(cookies).toMatchObject([{ name: 'shardlab_session', httpOnly: true, sameSite: 'Strict' }]);
});

test('after a session has ended, a new login returns to the same page', async ({ page }) => {
  await page.goto('/runs');
  await logIn(page);
  await expect(page.getByRole('heading', { level: 1, name: 'Runs' })).toBeVisible();
  await page.context().clearCookies(); // as when the session expires
  await expect(page).toHaveURL(/\/login\?next=%2Fruns$/);
  await logIn(page);
  await expect(page.getByRole('heading', { level: 1, name: 'Runs' })).toBeVisible();

  await page.getByRole('button', { name: 'Log out' }).click();
  await expect(page).toHaveURL(/\/login$/);
  await page.goto('/claims');
  await expect(page).toHaveURL(/\/login\?next=%2Fclaims$/);
});

test('the login in both themes, on a desktop and on a phone, with nothing cut off at any width', async ({
  page,
}) => {
  await expectReadableEverywhere(page, async () => {
    await page.goto('/login');
    await expect(page.getByLabel('Key', { exact: true })).toBeVisible();
  });
  await expectWholeAtAllWidths(page);
});
