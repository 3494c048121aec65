/** The main journey: Figure 3 from the start page to its verdicts, and back to the headline of the start page. */
import type { Page } from '@playwright/test';
import { expect, idleMachine, type RunAnswer, readRun, shortScenario, test } from './journey.ts';
import { drawn, expectReadableEverywhere, showIn } from './readable.ts';

/** A timeout for hangs. It is long, since tests may run at the same time. */
const runWithinMs = 10 * 60_000;
const scenario = 'white-paper-figure-3';
/** A sweep of two values for each axis: more points or processes would take longer and show nothing new on the pages. */
const ends = { instances: [1, 2], threads: [1, 16] };

test('Figure 3, quick, from the start page to its verdicts and back', async ({ page, request }) => {
  test.setTimeout(runWithinMs + 60_000);
  await idleMachine(page);
  // The page requests a run of the scenario by its id; the server gets a scenario with these values and shorter phases instead.
  await page.route('**/api/runs', async (route) => {
    if (route.request().method() !== 'POST') return route.fallback();
    const asked = route.request().postDataJSON();
    expect(asked).toMatchObject({ scenario, scale: 'quick' });
    return route.fallback({
      postData: { ...asked, scenario: shortScenario(scenario, { sweep: ends, kills: true }) },
    });
  });
  await page.goto('/');
  const result = page.getByRole('region', { name: 'Result' });
  await expect(result.getByRole('heading', { level: 1 })).toContainText('How many messages a second');
  await expect(result.getByText('its verdicts are provisional')).toBeVisible();
  await expect(result.getByText('76,000/s in the document').first(), "the paper's line").toBeVisible();
  await result.getByRole('button', { name: 'Reproduce Figure 3' }).click();

  await expect(page).toHaveURL(/\/runs\/[^/]+$/);
  const status = page.getByRole('status', { name: 'Run status' });
  await expect(status).toHaveText('Running');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  const points = page.getByRole('tabpanel', { name: 'Points' }).getByRole('row');
  await expect(points.nth(1), 'points come while the run goes on').toBeVisible({ timeout: 60_000 });
  await expect(status).toHaveText('Running');
  await expect(status).not.toHaveText('Running', { timeout: runWithinMs });

  const id = new URL(page.url()).pathname.split('/').at(-1)!;
  const run = await readRun(request, id);
  expect(run.error).toBeNull();
  await expect(status).toHaveText('Done');
  const words = {
    holds: 'Holds here',
    mixed: 'Mixed',
    'does-not-hold': 'Does not hold here',
    inconclusive: 'Inconclusive',
    'not-comparable': 'Not comparable',
  };
  expect(run.claims.map((claim) => claim.id)).toEqual(['A1', 'A2', 'A3', 'A4', 'A5', 'A6']);
  // A claim lists its clauses too, which are list items inside of it.
  const claims = page.getByRole('list', { name: 'Claims' }).locator('> li');
  for (const [index, claim] of run.claims.entries()) {
    await expect(claims.nth(index)).toContainText(claim.id);
    await expect(claims.nth(index)).toContainText(words[claim.verdict]);
    await expect(claims.nth(index)).toContainText(claim.reason);
  }
  // The headless shell refuses it otherwise.
  await page.context().grantPermissions(['clipboard-write']);
  const copyLink = page.getByRole('button', { name: /^(Copy link|Link copied)$/ });
  await copyLink.click();
  await expect(copyLink).toHaveText('Link copied');
  await expect(copyLink).toHaveText('Copy link');
  expect(run.points).toHaveLength(run.progress.total);
  await expect(points).toHaveCount(1 + run.points.length);
  for (const { integrity } of run.points) {
    expect(integrity).toMatchObject({ lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0 });
  }
  await expectBoard(page, run);
  await expect(
    page.getByRole('definition').filter({ hasText: /^None$/ }),
    'no fault of integrity',
  ).toBeVisible();

  const { sharded, unsharded } = comparedPoint(run);
  for (const { system, figures } of [sharded, unsharded]) {
    const rate = `${Math.round(figures.dequeuePerSec!.value).toLocaleString('en-US')}/s`;
    const shown = page.getByRole('definition').filter({ hasText: rate });
    await expect(shown, `the ${system} rate where the queues are compared`).toBeVisible();
  }

  const figure = page.getByRole('figure', { name: 'Dequeue rate over threads' });
  await expect(
    figure.getByText('76,000/s', { exact: false }),
    "the paper's own figure is labelled, without a round trip and with one",
  ).toHaveCount(2);
  await figure.getByRole('button', { name: 'Table' }).click();
  // On a very busy machine a point may have no dequeues in its short window; such a point is not in the figure.
  const dequeued = run.points.filter(({ figures }) => figures.dequeuePerSec!.value > 0);
  await expect(figure.getByRole('row')).toHaveCount(1 + dequeued.length);
  await figure.getByRole('button', { name: 'Table' }).click();

  // This run page shows more than any other in the journeys.
  await expectReadableEverywhere(page, async () => {
    await page.reload(); // selects the largest point again, at which most sessions wait
    await expect(page.getByRole('slider', { name: 'Trials: time that is shown' })).toBeVisible();
    await expect(points).toHaveCount(1 + run.points.length);
  });
  await showIn(page, 'light', 'desktop');
  if (process.env.UPDATE_IMAGES !== undefined) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.mouse.move(0, 0);
    await drawn(page);
    await page.evaluate(() => scrollTo(0, 0));
    await page.screenshot({ path: 'docs/images/run.png' });
    await showIn(page, 'light', 'desktop');
  }
  await expectHeadline(page, run);
});

/**
 * The most loaded point at which both queues dequeued: preferably without a round trip, then with the most instances, then with the
 * most threads. On a very busy machine the largest point of all may have no dequeues in its short window.
 */
function comparedPoint(run: RunAnswer) {
  const measured = run.points.filter(({ figures }) => figures.dequeuePerSec!.value > 0);
  const number = ({ params }: RunAnswer['points'][number], name: string) => Number(params[name]);
  const pairs = measured
    .filter(({ system }) => system === 'sharded')
    .flatMap((sharded) =>
      measured
        .filter(
          (other) =>
            other.system === 'unsharded' && JSON.stringify(other.params) === JSON.stringify(sharded.params),
        )
        .map((unsharded) => ({ sharded, unsharded })),
    )
    .sort(
      ({ sharded: a }, { sharded: b }) =>
        number(a, 'roundTripMs') - number(b, 'roundTripMs') ||
        number(b, 'instances') - number(a, 'instances') ||
        number(b, 'threads') - number(a, 'threads'),
    );
  const [{ sharded, unsharded }] = pairs as [(typeof pairs)[number]];
  const [instances, threads] = [number(sharded, 'instances'), number(sharded, 'threads')];
  const words = {
    instances: `${instances} ${instances === 1 ? 'instance' : 'instances'}`,
    threads: `${threads} ${threads === 1 ? 'thread' : 'threads'}`,
  };
  return { instances, threads, words, sharded, unsharded };
}

/** Expects that a viewport of 1440 × 900 has the claim, the chart, both queues' sessions and the strip of trials with its slider. */
async function expectBoard(page: Page, run: RunAnswer) {
  const { words } = comparedPoint(run);
  await page.setViewportSize({ width: 1440, height: 900 });
  const strip = page.getByRole('slider', { name: 'Trials: time that is shown' });
  await page.evaluate(() => scrollTo(0, 0));
  // The charts are resized a moment after the window.
  const bottom = async () => {
    const box = await strip.boundingBox();
    return box!.y + box!.height;
  };
  await expect.poll(bottom, { message: 'the strip is on the first screen' }).toBeLessThanOrEqual(900);
  const verdict = page.getByRole('region', { name: 'Verdict' });
  await verdict.getByRole('button', { name: /^A4, / }).click();
  const a4 = run.claims.find(({ id }) => id === 'A4')!;
  await expect(verdict).toContainText(a4.document);
  await expect(page).toHaveURL(/claim=A4/);
  await expect(
    page.getByRole('heading', {
      name: new RegExp(
        `^With ${words.instances} and ${words.threads}, of .* for the unsharded queue, .* waits? for`,
      ),
    }),
    'why, from the waits at the largest point',
  ).toBeVisible();
  const before = await strip.getAttribute('aria-valuetext');
  expect(before).toContain(`sharded, ${words.instances}, ${words.threads}`);
  await strip.focus();
  await page.keyboard.press('Home');
  await expect(strip).not.toHaveAttribute('aria-valuetext', before!);
  await strip.click({ position: { x: 5, y: 10 } });
  await expect(strip).toHaveAttribute('aria-valuetext', /1 instance, 1 thread/);
}

/** Expects that the start page compares both queues at one point of this run. */
async function expectHeadline(page: Page, run: RunAnswer) {
  const { sharded, unsharded, words } = comparedPoint(run);
  await page.getByRole('link', { name: 'Lab', exact: true }).click();
  const headline = page.getByRole('region', { name: 'Result' }).getByRole('heading', { level: 1 });
  await expect(headline).toContainText(`With ${words.threads} on ${words.instances}`);
  for (const { figures } of [sharded, unsharded])
    await expect(headline).toContainText(Math.round(figures.dequeuePerSec!.value).toLocaleString('en-US'));
  await expect(page.getByRole('region', { name: 'Result' })).toContainText(
    '1 repeat, too few for an interval',
  );

  // On a very busy machine the measurements may contradict each other, so that there is not even a provisional verdict.
  const { provisional, document } = run.claims.find(({ id }) => id === 'A4')!;
  await page.getByRole('button', { name: provisional ? /^A4, .*provisional/ : /^A4, / }).click();
  const opened = page.getByRole('article', { name: 'Claim A4' });
  await expect(opened).toContainText(document);
  await expect(opened.getByRole('figure', { name: /^The run that judged A4/ })).toBeVisible();
  await opened.getByRole('link', { name: /^white-paper-figure-3, quick/ }).click();
  await expect(page).toHaveURL(/\/runs\/[^/]+\?claim=A4$/);
  await page.goBack();
  await opened.getByRole('link', { name: 'where its time goes' }).click();
  await expect(page).toHaveURL(new RegExp(`/runs/${run.id}/explain$`));
}
