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

  await chart.getByRole('slider').focus();
  await page.keyboard.press('End');
  await expect(chart.getByText(/sessions wait for round trips|bottleneck:/)).toBeVisible();
  await page.reload();
  await expect(page.getByRole('slider', { name: /^Disk sync time/ })).toHaveAttribute(
    'aria-valuetext',
    /^20.ms$/,
  );
  expect(errors).toEqual([]);
});
