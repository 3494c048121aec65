/**
 * Saves pictures of every page and state in `screenshots/`, at two widths and in both themes. Asserts nothing about how they look; a
 * page that does not open fails.
 */
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from '@playwright/test';
import {
  expect,
  failRuns,
  idleMachine,
  longScenario,
  machineIs,
  startRun,
  test,
  withServer,
} from './journey.ts';
import { furnish, importOnce, open, pages } from './pages.ts';
import { drawn, themes } from './readable.ts';

const folder = fileURLToPath(new URL('../screenshots/', import.meta.url));
const widths = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
] as const;

/** Saves the page as it is, in each theme and width, for example as name-1440-light.png. */
async function take(page: Page, name: string, fullPage = true): Promise<void> {
  for (const size of widths) {
    await page.setViewportSize(size);
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await drawn(page);
      await page.screenshot({ path: `${folder}${name}-${size.width}-${colorScheme}.png`, fullPage });
    }
  }
}

test.beforeAll(() => rmSync(folder, { recursive: true, force: true }));

test('pages without data', async ({ page }) => {
  for (const name of ['start', 'runs', 'documents', 'queues', 'cluster']) {
    await open(page, name === 'start' ? '/' : `/${name}`);
    await take(page, `empty-${name}`);
  }
  await page.goto('/runs/unknown');
  await expect(page.getByRole('alert')).toBeVisible();
  await take(page, 'run-unknown');
});

test('pages', async ({ page, request }) => {
  const ids = await furnish(request);
  for (const { name, address } of pages) {
    await open(page, address(ids));
    await take(page, name, name !== 'run-presented');
  }
});

test('documents and runs of other studies', async ({ page, request }) => {
  const { studies } = await (await request.get('/api/studies')).json();
  for (const { id } of studies as { id: string }[]) {
    await open(page, `/documents/${id}`);
    await take(page, `document-${id}`);
  }
  for (const fixture of [
    'figure-3',
    'listen-pairs',
    'listen-herd',
    'listen-against-subscriber',
    'listen-hot-copies',
    'xa-branches',
  ]) {
    const run = await importOnce(request, fixture);
    await open(page, `/runs/${run}`);
    await take(page, `run-${fixture}`);
    await open(page, `/runs/${run}/explain`);
    await take(page, `explain-${fixture}`);
  }
});

test('states of the pages', async ({ page, request }) => {
  await furnish(request);
  await open(page, '/');
  await page.keyboard.press('?');
  await take(page, 'keys', false);

  await machineIs(page, { coresBusy: 1.7, loadRunning: true });
  await open(page, '/scenarios/first-look');
  await page.getByRole('button', { name: 'Run quick' }).click();
  await expect(page.getByRole('dialog')).toBeVisible();
  await take(page, 'machine-busy', false);

  await open(page, '/editor?scenario=white-paper-figure-3');
  await page.getByLabel('Title', { exact: true }).fill('');
  await expect(page.getByRole('region', { name: 'State of the draft' })).toContainText('Must not be empty');
  await take(page, 'editor-fault');

  await page.unrouteAll();
  await idleMachine(page);
  await open(page, '/learn/lesson-xa?guess=1');
  await page.getByRole('button', { name: /^Run it/ }).click();
  await expect(page.getByRole('heading', { name: /^Measuring/ })).toBeVisible();
  await take(page, 'lesson-under-way');
  await expect(page.getByRole('heading', { name: 'The answer' })).toBeVisible({ timeout: 180_000 });
  await take(page, 'lesson-answer');

  const long = await startRun(request, longScenario('screenshots'));
  await page.goto(`/runs/${long}`);
  await expect(page.getByText(/^1:?\d* of \d+ trials|[2-9] of \d+ trials/).first()).toBeVisible();
  await take(page, 'run-under-way');
  await request.post(`/api/runs/${long}/cancel`);
  await page.goto(`/runs/${long}`);
  await expect(page.getByText(/^cancelled$/i).first()).toBeVisible();
  await take(page, 'run-cancelled');
});

test('the console with a day that has a gap, and with faults in forms', async ({ page, request }) => {
  await furnish(request);
  const everyMs = 300_000;
  const startMs = Date.now() - 288 * everyMs;
  const samples = Array.from({ length: 288 }, (_, index) => {
    const day = 1 - Math.cos((index / 288) * 2 * Math.PI);
    const isSurge = index > 200 && index < 218;
    const enqueuePerSec = 200 + 600 * day + 90 * Math.sin(index * 1.7);
    return {
      atMs: startMs + (index + 1) * everyMs,
      sinceMs: startMs + index * everyMs,
      depth: Math.round(40 + 60 * day + (isSurge ? 20_000 : 0)),
      enqueuePerSec,
      dequeuePerSec: isSurge ? enqueuePerSec * 0.7 : enqueuePerSec,
      latencyMs: index % 40 === 9 ? null : { p50: 3 + day, p99: isSurge ? 2_600 : 14 + 6 * day },
      lagMs: isSurge ? 4_200 : 0,
    };
  }).filter((_, index) => index < 110 || index > 135);
  await page.route('**/api/queues/parcels/history?*', (route) =>
    route.fulfill({ json: { queue: 'parcels', everyMs, samples } }),
  );
  await open(page, '/queues?queue=parcels&tab=monitor');
  await page.getByText('Day', { exact: true }).click();
  await expect(page.getByText('1 gap in the lines:')).toBeVisible();
  await take(page, 'queue-day');
  await open(page, '/queues?queue=news');
  const submit = async (form: string, faulty: Record<string, string>, button = form) => {
    const fields = page.getByRole('form', { name: form });
    for (const [label, text] of Object.entries(faulty)) await fields.getByLabel(label).fill(text);
    await fields.getByRole('button', { name: button }).click();
    await expect(fields.getByRole('alert').first()).toBeVisible();
  };
  await submit('Create a queue', { Name: '1st' }, 'Create queue');
  await submit('Enqueue', { Copies: '2,5' });
  await submit('Dequeue', { 'At most': 'many' });
  await take(page, 'queue-forms-faulty');
});

test('the login of a server with a key', async ({ page, playwright }) => {
  const env = { SHARDLAB_KEY: 'a key for pictures' };
  await withServer({ playwright, logName: 'screenshots-login.log', env }, async ({ url }) => {
    await page.goto(`${url}/login`);
    await page.getByLabel('Key', { exact: true }).fill('not the key');
    await page.getByRole('button', { name: 'Log in' }).click();
    await expect(page.getByRole('alert')).toBeVisible();
    await take(page, 'login');
  });
});

test('a server that does not respond, and runs that were interrupted or failed', async ({
  browsing,
  playwright,
}) => {
  await withServer({ playwright, logName: 'screenshots-server-gone.log' }, async (server, request) => {
    const opened = async (address: string) => {
      const page = await browsing.newPage();
      await page.goto(`${server.url}${address}`);
      return page;
    };
    expect((await request.post('/api/queues', { data: { name: 'parcels' } })).status()).toBe(201);
    const id = await startRun(request, longScenario('interrupted'));
    const pages = {
      run: await opened(`/runs/${id}`),
      presented: await opened(`/runs/${id}?present=true`),
      queue: await opened('/queues?queue=parcels&tab=monitor'),
      cluster: await opened('/cluster'),
      start: await opened('/'),
    };
    await expect(pages.run.getByText(/[2-9] of 24 trials/)).toBeVisible({ timeout: 90_000 });
    await server.kill();
    for (const [name, page] of Object.entries(pages)) {
      await expect(page.getByRole('alert').first()).toBeVisible();
      await take(page, `server-gone-${name}`, false);
    }
    await server.startAgain();
    await expect(pages.run.getByRole('button', { name: 'Resume' })).toBeVisible();
    await take(pages.run, 'run-interrupted');
    const failing = await startRun(request, longScenario('failed'));
    await pages.run.goto(`${server.url}/runs/${failing}`);
    await expect(pages.run.getByText(/[2-9] of 24 trials/)).toBeVisible({ timeout: 90_000 });
    failRuns(server);
    await expect(pages.run.getByRole('status', { name: 'Run status' })).toHaveText('Failed');
    await take(pages.run, 'run-failed');
  });
});
