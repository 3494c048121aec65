/** The model in the browser: simulated lines appear, and move with a slider. */
import { expect, idleMachine, machineIs, readRun, shortScenario, startRun, test } from './journey.ts';

test('a slower disk lowers the simulated lines, and the address keeps the setting', async ({ page }) => {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto('/what-if?hardware=exadata-x4-2');
  const chart = page.getByRole('figure', { name: /^Dequeue rate over threads/ });
  const line = chart.locator('path[data-series="simulated/sharded"]');
  await expect(page.getByText('simulated', { exact: true }).first()).toBeVisible();
  await expect(line).toHaveCount(1);
  await expect(page.getByRole('status').filter({ hasText: /^simulated$/ })).toBeVisible({ timeout: 60_000 });
  const before = await line.getAttribute('d');

  const slider = page.getByRole('slider', { name: /^Disk sync time/ });
  await slider.focus();
  await slider.press('End');
  await expect(page).toHaveURL(/syncUs=20000/);
  await expect(slider).toHaveAttribute('aria-valuetext', /^20.ms$/);
  await expect(line).not.toHaveAttribute('d', before!);
  const answer = page.getByRole('region', { name: 'Answer of the model' });
  await expect(answer).toContainText('Costs of Oracle Exadata');
  await expect(answer).toContainText('changes are against: Disk sync time');
  await expect(chart.locator('path[data-series="before/sharded"]')).toHaveCount(1);

  await chart.getByRole('slider').focus();
  await page.keyboard.press('End');
  await expect(chart.getByText(/limited by/)).toBeVisible();
  await page.reload();
  await expect(page.getByRole('slider', { name: /^Disk sync time/ })).toHaveAttribute(
    'aria-valuetext',
    /^20.ms$/,
  );
  expect(errors).toEqual([]);
});

test('the limiting resource is named in words that stay visible, and can be removed', async ({ page }) => {
  await page.goto('/what-if?hardware=exadata-x4-2&instances=4');
  const answer = page.getByRole('region', { name: 'Answer of the model' });
  await expect(answer.getByText(/^Limited by/)).toHaveCount(2);
  await expect(answer.getByRole('status')).toHaveText('simulated', { timeout: 60_000 });
  await answer.getByRole('button', { name: 'Remove this bottleneck' }).last().click();
  await expect(page).toHaveURL(/without=/);
  await expect(answer.getByRole('list', { name: 'Removed bottlenecks' })).toContainText('Put back');
  await expect(answer.locator('[data-change]').last()).toHaveText(/%|×/);
  await page.getByRole('switch', { name: 'Remove round trips to the client' }).scrollIntoViewIfNeeded();
  await expect(answer).toBeInViewport({ ratio: 1 });
  await answer.getByRole('button', { name: /^Put back/ }).click();
  await expect(answer.getByRole('list', { name: 'Removed bottlenecks' })).toHaveCount(0);
});

test('a calibration asks first on a busy machine, can be cancelled, and gives the costs of this machine', async ({
  page,
}) => {
  test.setTimeout(240_000);
  // The calibration is in its smallest form, since its precision does not matter here.
  await page.route('**/api/calibration', (route) =>
    route.request().method() === 'POST'
      ? route.continue({
          postData: '{"sliceMs":10,"rounds":1}',
          headers: jsonHeaders(route.request().headers()),
        })
      : route.continue(),
  );
  await machineIs(page, { coresBusy: 1.8, loadRunning: false });
  await page.goto('/what-if?hardware=exadata-x4-2');
  const settings = page.getByRole('region', { name: 'Settings' });
  const answer = page.getByRole('region', { name: 'Answer of the model' });
  await expect(answer).toContainText('which need not be this machine');
  await settings.getByRole('button', { name: /^Calibrate here/ }).click();
  const question = page.getByRole('dialog', { name: 'The machine is busy' });
  await expect(question).toContainText('1.8 of 2 cores busy');
  await question.getByRole('button', { name: 'Not now' }).click();
  await expect(settings.getByRole('progressbar')).toHaveCount(0);

  await settings.getByRole('button', { name: /^Calibrate here/ }).click();
  await question.getByRole('button', { name: 'Calibrate anyway' }).click();
  await expect(settings.getByRole('progressbar', { name: 'Calibration' })).toBeVisible();
  await expect(settings.getByText(/^Measuring /)).toBeVisible();
  await settings.getByRole('button', { name: 'Cancel' }).click();
  await expect(settings.getByText('The calibration was cancelled.')).toBeVisible();

  await page.unroute('**/api/machine');
  await idleMachine(page);
  await settings.getByRole('button', { name: /^Calibrate here/ }).click();
  await expect(answer).toContainText('measured on this machine just now', { timeout: 120_000 });
  await expect(page).toHaveURL(/hardware=this-machine/);
  await expect(settings.getByRole('combobox', { name: 'Machine' })).toHaveValue('this-machine');
  await expect(settings.getByRole('button', { name: 'Calibrate here again' })).toBeEnabled();
  await page.goto('/what-if'); // the page uses the costs of this machine by default
  await expect(answer).toContainText('measured on this machine just now');
});

const jsonHeaders = (headers: Record<string, string>) => ({ ...headers, 'content-type': 'application/json' });

test('workloads that this machine has measured are predicted and scored', async ({ page, request }) => {
  test.setTimeout(240_000);
  const run = await startRun(
    request,
    shortScenario('first-look', { sweep: { instances: [1], threads: [1, 4] }, kills: false }),
  );
  await expect.poll(async () => (await readRun(request, run)).status, { timeout: 120_000 }).toBe('done');
  await page.goto('/what-if');
  const score = page.getByRole('region', { name: 'Score of the predictions' });
  await expect(score.getByRole('status')).toHaveText(
    /^\d+ of \d+ predicted dequeue rates (is|are) within 20 % of what was measured; the median error is \d+ %\.$/,
    { timeout: 60_000 },
  );
  await expect(score.getByRole('row', { name: /^Dequeue rate/ })).toContainText(
    /predicted [\d,.]+\/s, measured [\d,.]+\/s/,
  );
  const chart = score.getByRole('figure', { name: 'Predicted over measured dequeue rate' });
  await chart.getByRole('slider').focus();
  await page.keyboard.press('Home');
  await expect(chart.getByText(/, \d+ instances?, .*: predicted .*, measured /)).toBeVisible(); // the slowest measured workload
  await chart.getByRole('button', { name: 'Table' }).click();
  await expect(chart.getByRole('table')).toContainText('First look');
  const column = chart.getByRole('columnheader', { name: 'Dequeue rate: measured' });
  await column.getByRole('button').focus();
  await page.keyboard.press('Enter');
  await expect(column).toHaveAttribute('aria-sort', 'descending');
  const rates = async () => {
    const cells = await chart.getByRole('table').locator('tbody td:nth-child(4)').allTextContents();
    return cells.map((text) => Number(text.replaceAll(',', '')));
  };
  const falling = await rates();
  expect(falling).toEqual([...falling].sort((a, b) => b - a));
  await page.keyboard.press('Enter');
  await expect(column).toHaveAttribute('aria-sort', 'ascending');
  expect(await rates()).toEqual([...falling].reverse());
});
