/** The cluster page: processes are killed, stopped and started while a load continues, and nothing is lost. */
import type { Page } from '@playwright/test';
import { expect, test } from './journey.ts';

const processOf = (page: Page, instance: number) =>
  page.getByRole('article', { name: `Process of instance ${instance}` });
const hostedInstance = (page: Page, { instance, host }: { instance: number; host: number }) =>
  processOf(page, host).getByRole('region', { name: `Instance ${instance}` });
const act = (page: Page, action: string, instance: number) =>
  page.getByRole('button', { name: `${action} the process of instance ${instance}` }).click();

async function figure(page: Page, name: string): Promise<number> {
  const text = await page
    .getByRole('region', { name: 'Load' })
    .locator('dt', { hasText: name })
    .locator('+ dd')
    .textContent();
  return Number(text?.replaceAll(',', ''));
}

/** Expects that messages are not only enqueued but also consumed. */
async function expectProgress(page: Page) {
  const before = await figure(page, 'Consumed');
  await expect.poll(() => figure(page, 'Consumed')).toBeGreaterThan(before + 50);
}

test('nothing is lost or duplicated while processes are killed and started under load', async ({
  page,
  request,
}) => {
  test.setTimeout(120_000);
  await page.goto('/cluster');
  await page.getByRole('button', { name: 'Add an instance' }).click();
  await expect(processOf(page, 2).getByText('Running')).toBeVisible();

  await page.getByRole('switch', { name: 'Load' }).click();
  await expectProgress(page);
  await expect(
    processOf(page, 2)
      .getByText(/^[1-9][\d,.]*\/s$/)
      .first(),
    'instance 2 has work',
  ).toBeVisible();

  await act(page, 'Kill', 2);
  await expect(hostedInstance(page, { instance: 2, host: 1 })).toContainText('Hosted here');
  await expect(processOf(page, 2)).toContainText('the process of instance 1 hosts its instance');
  await expectProgress(page);

  await act(page, 'Start', 2);
  await expect(hostedInstance(page, { instance: 2, host: 2 })).toContainText('Up');
  await expectProgress(page);

  await act(page, 'Pause', 1);
  await expect(hostedInstance(page, { instance: 1, host: 2 }), 'it was stopped').toContainText('Hosted here');
  await expectProgress(page);
  await act(page, 'Start', 1);
  await expect(hostedInstance(page, { instance: 1, host: 1 })).toContainText('Up');

  // Each event is in the log at least once.
  const log = page.getByRole('log');
  for (const sentence of [
    /Process \d+ of instance 2 killed by SIGKILL/,
    /Instance 2 taken over by the process of instance 1/,
    /Instance 2 returned to its own process/,
    /Process \d+ of instance 1 paused/,
    /Instance 1 taken over by the process of instance 2 after a failure.*, which first killed the process of instance 1/,
  ]) {
    await expect(log.getByText(sentence).first()).toBeVisible();
  }

  await page.getByRole('switch', { name: 'Load' }).click();
  await expect(page.getByText(/^Nothing lost, nothing duplicated: /)).toBeVisible({ timeout: 30_000 });
  const [acknowledged, consumed] = [await figure(page, 'Acknowledged'), await figure(page, 'Consumed')];
  expect(acknowledged).toBeGreaterThan(300);
  expect(consumed).toBeGreaterThanOrEqual(acknowledged);
  expect([await figure(page, 'Lost'), await figure(page, 'Duplicated')]).toEqual([0, 0]);

  // The journeys that follow need only one process.
  await page.getByRole('button', { name: 'Remove instance 2' }).click();
  await expect(processOf(page, 2)).toHaveCount(0);
  const { instances } = await (await request.get('/api/cluster')).json();
  expect(instances).toHaveLength(1);
});
