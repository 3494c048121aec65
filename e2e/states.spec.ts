/** A server that is killed, hangs and is started again; runs that were interrupted, that failed, or that other work disturbed. */
import type { BrowserContext, Page } from '@playwright/test';
import { fixture, importRun } from './imported.ts';
import {
  expect,
  failRuns,
  idleMachine,
  longScenario,
  mendRuns,
  readRun,
  startRun,
  test,
  withServer,
} from './journey.ts';
import { importOnce } from './pages.ts';
import { expectReadable } from './readable.ts';

const statusOf = (page: Page) => page.getByRole('status', { name: 'Run status' });
const staleNotice = (page: Page) =>
  page.getByRole('alert').filter({ hasText: /The server has not answered since \d\d:\d\d:\d\d/ });

/** Opens the pages of a run under way, a queue and the cluster, and the start page. */
async function openPages(context: BrowserContext, url: string, run: string) {
  const addresses = { run: `/runs/${run}`, queue: '/queues?queue=parcels', cluster: '/cluster', start: '/' };
  const open = async (address: string) => {
    const page = await context.newPage();
    await idleMachine(page);
    await page.goto(`${url}${address}`);
    return page;
  };
  return {
    run: await open(addresses.run),
    queue: await open(addresses.queue),
    cluster: await open(addresses.cluster),
    start: await open(addresses.start),
  };
}

test('without its server every page says since when it is stale, and continues once the server responds; the interrupted run is resumed', async ({
  browsing,
  playwright,
}) => {
  test.setTimeout(300_000);
  await withServer({ playwright, logName: 'server-gone.log' }, async (server, request) => {
    const send = async (count: number) => {
      const messages = Array.from({ length: count }, (_, parcel) => ({ payload: { parcel } }));
      const answer = await request.post('/api/queues/parcels/messages', { data: { messages } });
      expect(answer.status()).toBe(201);
    };
    expect((await request.post('/api/queues', { data: { name: 'parcels' } })).status()).toBe(201);
    await send(3);
    const id = await startRun(request, longScenario('left-alone'));
    const pages = await openPages(browsing, server.url, id);
    const all = Object.values(pages);
    const pill = pages.cluster.getByRole('link', { name: /^Run under way: Long: left-alone/ });
    const backlog = pages.queue.getByRole('row', { name: /parcels/ });
    await expect(backlog).toContainText('3');
    await expect(pages.cluster.getByRole('heading', { name: '1 instance' })).toBeVisible();
    await expect(pages.run.getByText(/about .* left/)).toBeVisible({ timeout: 60_000 });
    await expect(pill, 'with the time that is left').toContainText(/of 24, \d/);

    await test.step('the server is killed', async () => {
      await server.kill();
      for (const page of all) await expect(staleNotice(page)).toBeVisible();
      await expect(pages.run.getByText(/about .* left/)).toHaveCount(0);
      for (const page of all) {
        const told = page.getByRole('link', { name: /^Run under way: .*, not answering$/ });
        await expect(told).toContainText('no answer');
        await expect(page.getByRole('alert'), 'said once').toHaveCount(1);
      }
      await expect(statusOf(pages.run), 'what was shown stays').toHaveText('Running');
      await expect(backlog).toBeVisible();
      await expectReadable(pages.run);
    });

    await test.step('the server is started again', async () => {
      await server.startAgain();
      await send(4);
      for (const page of all) await expect(staleNotice(page)).toHaveCount(0);
      await expect(backlog).toContainText('7');
      await expect(pages.cluster.getByRole('heading', { name: '1 instance' })).toBeVisible();
      await expect(pill, 'no run is under way').toHaveCount(0);
    });

    const { run } = pages;
    await test.step('the run was interrupted, and is resumed', async () => {
      const notice = run.getByRole('alert').filter({ hasText: 'The server ended during this run' });
      await expect(notice).toContainText(
        /It had finished \d+ of 24 trials\. Resumed, it measures the others\./,
      );
      const before = await readRun(request, id);
      expect(before).toMatchObject({ status: 'cancelled', error: { code: 'RUN_INTERRUPTED' } });
      await expect(statusOf(run)).toHaveText('Interrupted');
      await expectReadable(run);
      await notice.getByRole('button', { name: 'Resume' }).click();
      await expect(statusOf(run)).toHaveText('Running');
      const progress = run.getByRole('progressbar', { name: 'Trials finished' });
      await expect
        .poll(async () => Number(await progress.getAttribute('value')), { timeout: 60_000 })
        .toBeGreaterThan(before.progress.done);
      await run.getByRole('button', { name: 'Cancel run' }).click();
      await expect(statusOf(run)).toHaveText('Cancelled');
      await expect(
        run.getByRole('button', { name: 'Resume' }),
        'it was cancelled, not interrupted',
      ).toHaveCount(0);
    });

    await test.step('the run can be repeated', async () => {
      await run.getByRole('button', { name: 'Run again' }).click();
      await expect(run).not.toHaveURL(new RegExp(id));
      await expect(statusOf(run)).toHaveText('Running');
      await run.getByRole('button', { name: 'Cancel run' }).click();
      await expect(statusOf(run)).toHaveText('Cancelled');
    });

    await test.step('a server that hangs is detected too', async () => {
      server.suspend();
      await expect(staleNotice(pages.queue)).toBeVisible({ timeout: 60_000 });
      server.resume();
      await expect(staleNotice(pages.queue)).toHaveCount(0);
    });
    for (const page of all) await page.close();
  });
});

test('a run that fails says why, keeps its points, and can be run again', async ({
  browsing,
  playwright,
}) => {
  test.setTimeout(240_000);
  await withServer({ playwright, logName: 'server-run-fails.log' }, async (server, request) => {
    const id = await startRun(request, longScenario('without-its-folder'));
    const page = await browsing.newPage();
    await idleMachine(page);
    await page.goto(`${server.url}/runs/${id}`);
    const points = page.getByRole('tabpanel', { name: 'Points' }).getByRole('row');
    await expect(points.nth(1), 'a point').toBeVisible({ timeout: 90_000 });
    failRuns(server);
    await expect(statusOf(page)).toHaveText('Failed', { timeout: 60_000 });
    const notice = page.getByRole('alert');
    await expect(notice).toContainText('The run failed: ');
    await expect(notice).toContainText('The points finished before the failure are kept.');
    const run = await readRun(request, id);
    expect(run.points.length).toBeGreaterThan(0);
    await expect(notice).toContainText(`${run.error!.code}. The server's log has the full paths.`);
    await expect(notice).not.toContainText(server.dataDir);
    await expect(points).toHaveCount(1 + run.points.length);
    await expectReadable(page);
    await page.goto(`${server.url}/runs`);
    await expect(page.getByRole('row').filter({ hasText: 'without-its-folder' })).toContainText('Failed');

    mendRuns(server);
    await page.goto(`${server.url}/runs/${id}`);
    await page.getByRole('button', { name: 'Run again' }).click();
    await expect(page).not.toHaveURL(new RegExp(id));
    await expect(points.nth(1)).toBeVisible({ timeout: 90_000 });
    await page.getByRole('button', { name: 'Cancel run' }).click();
    await expect(statusOf(page)).toHaveText('Cancelled');
    await page.close();
  });
});

test('a run that other work disturbed says so above its figures, and an undisturbed run does not', async ({
  page,
  request,
}) => {
  const banner = page.getByText('Measured on a busy machine:');
  const { points } = JSON.parse(fixture('figure-3')) as { points: object[] };
  const conditions = (index: number) => ({ notSteady: index < 2 ? 1 : 0, disturbed: 1, measuredAgain: 0 });
  const disturbed = points.map((point, index) => ({ ...point, conditions: conditions(index) }));
  await page.goto(`/runs/${await importRun(request, 'figure-3', { points: disturbed })}`);
  await expect(banner).toContainText('other work disturbed 9 of 9 points, and 2 were not steady');
  await expect(banner).toContainText('Another run may find something else.');
  await expectReadable(page);
  await page.goto(`/runs/${await importOnce(request, 'listen-hot-copies')}`);
  await expect(statusOf(page)).toHaveText('Done');
  await expect(banner).toHaveCount(0);
});

test('a page that fails says so in its place, within the frame, and can be tried again', async ({
  page,
  request,
}) => {
  const id = await importOnce(request, 'listen-hot-copies');
  const run = { ...JSON.parse(fixture('listen-hot-copies')), id, points: [null] }; // no server sends this
  const frames = [{ type: 'snapshot', run, ticks: [] }, { type: 'end' }].map(
    (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  );
  const events = `**/api/runs/${id}/events`;
  await page.route(events, (route) =>
    route.fulfill({ contentType: 'text/event-stream', body: frames.join('') }),
  );
  await page.goto(`/runs/${id}`);
  const failure = page.getByRole('alert').filter({ hasText: 'This page cannot be shown' });
  await expect(failure).toContainText('TypeError: ');
  await expect(failure.getByRole('link', { name: 'go to the lab' })).toBeVisible();
  await expect(page.getByRole('navigation').first(), 'the frame').toBeVisible();
  await expectReadable(page);
  await page.unroute(events);
  await failure.getByRole('button', { name: 'Try again' }).click();
  await expect(statusOf(page)).toHaveText('Done');
});
