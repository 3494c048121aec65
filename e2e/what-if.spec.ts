/** The model in the browser: simulated lines appear, and move with a slider. */
import { expect, test } from './journey.ts';

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

test('what limits is said in words that stay in sight, and can be taken away', async ({ page }) => {
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
