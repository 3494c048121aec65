/** A conversion in the queue console: its steps while they run, a drain that waits, and a cancellation. */
import { expect, test } from './journey.ts';

test('an unsharded queue is converted once it is empty, and can be cancelled before that', async ({
  page,
  request,
}) => {
  const name = 'to-convert';
  await request.post('/api/queues', { data: { name, kind: 'unsharded' } });
  await request.post(`/api/queues/${name}/messages`, { data: { messages: [{ payload: 'first' }] } });
  await page.goto(`/queues?queue=${name}`);
  const console = page.getByRole('region', { name: `Queue ${name}` });
  const conversion = page.getByRole('region', { name: `Conversion of ${name}` });
  const begin = async (shards: string) => {
    await console.getByRole('button', { name: 'Convert to sharded…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Shards per instance').fill(shards);
    await dialog.getByRole('button', { name: 'Convert', exact: true }).click();
    await expect(conversion.getByRole('listitem').filter({ hasText: 'Drain' })).toHaveAttribute(
      'aria-current',
      'step',
    );
  };

  await console.getByRole('button', { name: 'Convert to sharded…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Shards per instance').fill('0');
  await dialog.getByRole('button', { name: 'Convert', exact: true }).click();
  await expect(dialog.getByRole('alert')).toBeVisible();
  await dialog.getByRole('button', { name: 'Keep it unsharded' }).click();
  await console.getByRole('button', { name: 'Convert to sharded…' }).click();
  await expect(dialog.getByRole('alert')).toHaveCount(0);
  await dialog.getByRole('button', { name: 'Keep it unsharded' }).click();

  await begin('2');
  await expect(conversion).toContainText('1 message to dequeue');
  const refused = await request.post(`/api/queues/${name}/messages`, {
    data: { messages: [{ payload: 'late' }] },
  });
  expect([refused.status(), (await refused.json()).code]).toEqual([409, 'ENQUEUE_STOPPED']);

  await conversion.getByRole('button', { name: 'Cancel the conversion' }).click();
  await expect(conversion).toHaveCount(0);
  await expect(page.getByRole('switch', { name: `Enqueue of ${name}`, exact: true })).toBeChecked();

  await begin('3');
  const dequeue = page.getByRole('form', { name: 'Dequeue' });
  await dequeue.getByRole('button', { name: 'Dequeue' }).click();
  await expect(dequeue.getByRole('status')).toContainText('first');
  await expect(conversion.getByRole('heading', { name: 'Converted to sharded' })).toBeVisible();
  await expect(conversion.getByRole('listitem').filter({ hasText: 'done' })).toHaveCount(8);
  await expect(page.getByRole('row').filter({ hasText: name })).toContainText('sharded, durable');

  const enqueue = page.getByRole('form', { name: 'Enqueue' });
  await enqueue.getByLabel('Payload').fill('"after"');
  await enqueue.getByRole('button', { name: 'Enqueue' }).click();
  await expect(enqueue.getByRole('status')).toContainText('committed');
  await expect(page.getByText('after').first()).toBeVisible();
});
