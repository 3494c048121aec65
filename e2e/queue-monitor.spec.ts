/** The monitor of a queue: its figures follow enqueues and dequeues. */
import { expect, test } from './journey.ts';
import { LabServer } from './server.ts';

test('the monitor shows the messages of a queue by shard, consumer and partition, and those in the cache', async ({
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
  await expect(page.getByRole('slider', { name: 'Latency: cursor' })).toBeVisible();
  await expect(page.getByRole('img', { name: /^Depth of watched: / })).toBeVisible();

  await page.getByRole('tab', { name: 'Messages' }).click();
  await expect(page.getByRole('form', { name: 'Enqueue' })).toBeVisible();
});

test('the history of a queue survives a restart of the server, with its latency and a gap', async ({
  browser,
}) => {
  const server = await LabServer.start('server-of-the-history.log');
  const page = await browser.newPage({ baseURL: server.url });
  try {
    expect((await page.request.post('/api/queues', { data: { name: 'kept' } })).status()).toBe(201);
    const samples = async () => (await (await page.request.get('/api/queues/kept/history')).json()).samples;
    /** Enqueues and dequeues until this many deliveries were measured. */
    const work = (measured: number) =>
      expect
        .poll(
          async () => {
            await page.request.post('/api/queues/kept/messages', {
              data: { messages: [{ payload: 1 }, { payload: 2 }] },
            });
            await page.request.post('/api/queues/kept/dequeue', { data: { max: 1, mode: 'at-most-once' } });
            const all: { latencyMs: object | null }[] = await samples();
            return all.filter(({ latencyMs }) => latencyMs !== null).length;
          },
          { timeout: 60_000 },
        )
        .toBeGreaterThanOrEqual(measured);
    await work(2);
    await page.goto('/queues?queue=kept&tab=monitor');
    const latency = page.getByRole('slider', { name: 'Latency: cursor' });
    await latency.focus();
    await page.keyboard.press('End');
    await expect(latency).toHaveAttribute('aria-valuetext', /median .* 99th percentile /);
    const before: { atMs: number }[] = await samples();

    await server.restart();
    const after: { atMs: number }[] = await samples();
    expect(after.slice(0, before.length).map(({ atMs }) => atMs)).toEqual(before.map(({ atMs }) => atMs));
    await expect(page.getByRole('img', { name: /^Depth of kept: / }), 'in the list at once').toBeVisible();
    const list = page.getByRole('table').filter({ hasText: 'Depth, 10 min' }).locator('..');
    expect(await list.evaluate((box) => box.scrollWidth - box.clientWidth), 'all of its columns').toBe(0);
    await work(4);
    await expect(page.getByText('1 gap in the lines:')).toBeVisible();
    await expect(page.getByRole('img', { name: /^Depth of kept: .*, with 1 gap$/ })).toBeVisible();
    await page.getByRole('button', { name: 'Table', exact: true }).first().click();
    await expect(page.getByRole('columnheader', { name: 'Latency p99 ms' })).toBeVisible();
  } finally {
    await page.close();
    await server.stop();
  }
});
