/** A lesson from the guess to the answer, and its run in the presenter view. */
import { expect, idleMachine, readRun, test } from './journey.ts';
import { expectReadableEverywhere, showIn } from './readable.ts';

test('a lesson asks for a guess, runs, and says what happened and where it waited', async ({
  page,
  request,
}) => {
  test.setTimeout(240_000);
  await idleMachine(page);
  await page.goto('/');
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Learn' }).click();
  await expect(
    page.getByRole('listitem').filter({ has: page.getByRole('heading', { level: 3 }) }),
  ).toHaveCount(6);
  await page.getByRole('link', { name: 'Group commit' }).click();
  const run = page.getByRole('button', { name: /^Run it/ });
  await expect(run).toBeDisabled();
  const slider = page.getByRole('slider', { name: /^How many times as many messages/ });
  await expect(slider).toHaveAttribute('aria-valuetext', 'no guess yet');
  await slider.fill('8');
  await expect(slider).toHaveAttribute('aria-valuetext', '8 times');
  await run.click();
  await expect(page.getByText('You guessed 8 times')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'The answer' })).toBeVisible({ timeout: 180_000 });

  const id = new URL(page.url()).searchParams.get('run')!;
  const { points } = await readRun(request, id);
  const rates = new Map(points.map(({ params, figures }) => [params.threads, figures.dequeuePerSec!.value]));
  const factor = rates.get(32)! / rates.get(1)!;
  const answer = page.getByRole('region', { name: 'The answer' });
  const said = Number.parseFloat((await answer.locator('.lesson-number').textContent())!.replace(',', ''));
  expect(said / factor).toBeCloseTo(1, 1);
  await expect(page.getByRole('region', { name: 'What happened' }).getByRole('listitem')).toHaveCount(3);
  await expect(page.getByRole('region', { name: 'Where it waited' })).toContainText('“log file sync”');
  await expectReadableEverywhere(page, async () => {
    await page.reload();
    await expect(page.getByText('You guessed 8 times')).toBeVisible();
    await expect(page.getByRole('heading', { name: 'What happened' })).toBeVisible();
  });

  await showIn(page, 'light', 'desktop');
  await page.getByRole('link', { name: 'Open the run' }).click();
  await expect(page.getByRole('heading', { level: 1, name: /^Group commit/ })).toBeVisible();
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keys' });
  await expect(keys.getByText('Present', { exact: true })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(keys).toBeHidden();
  await page.keyboard.press('p');
  await expect(page).toHaveURL(/present=true/);
  await expect(page.getByRole('navigation')).toBeHidden();
  const sessions = page.locator('.stage svg[role=img]');
  await page.keyboard.press('ArrowRight');
  await expect(sessions).toContainText('1 instance, 1 thread');
  await page.keyboard.press('ArrowRight');
  await expect(sessions).toContainText('1 instance, 32 threads');
  await page.keyboard.press('ArrowLeft');
  await expect(sessions).toContainText('1 instance, 1 thread');
  await page.keyboard.press('?');
  await expect(keys.getByText('Next trial')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(keys).toBeHidden();
  await page.getByRole('button', { name: 'Leave' }).click();
  await expect(page).not.toHaveURL(/present/);
  await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible();
});
