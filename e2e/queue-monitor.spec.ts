/** The monitor of a queue: its figures follow what is enqueued and dequeued. */
import { expect, test } from './journey.ts';

test('the monitor shows what is in a queue, by shard, consumer, partition and in the cache', async ({
  page,
  request,
}) => {
  const messages = (count: number) => ({
    messages: Array.from({ length: count }, (_, n) => ({ payload: n })),
  });
  expect((await request.post('/api/queues', { data: { name: 'watched', shards: 2 } })).status()).toBe(201);
  await request.post('/api/queues/watched/messages', { data: messages(5) });

  await page.goto('/queues?queue=watched');
  await page.getByRole('tab', { name: 'Monitor' }).click();
  await expect(page).toHaveURL(/tab=monitor/);
  const totals = page.getByRole('tabpanel');
  await expect(totals).toContainText(/Depth\s*5/);

  const cell = (table: string, row: number, column: number) =>
    page
      .getByRole('region', { name: table, exact: true })
      .getByRole('row')
      .nth(row)
      .getByRole('cell')
      .nth(column);
  await expect(page.getByRole('region', { name: 'Shards', exact: true }).getByRole('row')).toHaveCount(3);
  await expect(page.getByRole('region', { name: 'Partitions', exact: true })).toContainText('filling');

  const taken = await request.post('/api/queues/watched/dequeue', { data: { max: 3, mode: 'at-most-once' } });
  expect((await taken.json()).messages).toHaveLength(3);
  await expect(totals).toContainText(/Depth\s*2/);
  await expect(page.getByRole('region', { name: 'Consumers by shard', exact: true })).toContainText(
    'just now',
  );
  await expect(
    cell('Message cache', 1, 1)
      .or(cell('Message cache', 2, 1))
      .filter({ hasText: '3' }),
  ).toBeVisible();

  const chart = page.getByRole('slider', { name: 'Enqueue and dequeue rate: cursor' });
  await chart.focus();
  await page.keyboard.press('End');
  await expect(chart).toHaveAttribute('aria-valuetext', /enqueued .* dequeued .* in the queue/);
  await page.getByRole('button', { name: 'Table', exact: true }).first().click();
  await expect(page.getByRole('columnheader', { name: 'Dequeued per second' })).toBeVisible();
  await expect(page.getByRole('slider', { name: 'Depth: cursor' })).toBeVisible();
  await expect(page.getByRole('slider', { name: 'Lag: cursor' })).toBeVisible();
  await expect(page.getByRole('img', { name: /^Depth of watched: / })).toBeVisible();

  await page.getByRole('tab', { name: 'Messages' }).click();
  await expect(page.getByRole('form', { name: 'Enqueue' })).toBeVisible();
});
