/** The queue console: queues and topics, subscribers, delays, and messages that keep coming back. */
import type { Page } from '@playwright/test';
import { expect, test } from './journey.ts';

const formOf = (page: Page, name: string) => page.getByRole('form', { name });
const waiting = (page: Page) =>
  page.getByRole('list', { name: 'Messages in the queue' }).getByRole('listitem');
const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

async function enqueue(page: Page, payload: string, fields: Record<string, string> = {}) {
  const form = formOf(page, 'Enqueue');
  await form.getByLabel('Payload').fill(payload);
  for (const [label, value] of Object.entries(fields)) await form.getByLabel(label).fill(value);
  await form.getByRole('button', { name: 'Enqueue' }).click();
  await expect(form.getByRole('status')).toContainText('committed');
}

test('the console enqueues, browses and dequeues', async ({ page, request }) => {
  expect((await request.post('/api/queues', { data: { name: 'console' } })).status()).toBe(201);
  await page.goto('/queues?queue=console');
  const enqueue = page.getByRole('form', { name: 'Enqueue' });
  await enqueue.getByLabel('Payload').fill('{ "from": "the console" }');
  await enqueue.getByLabel('Copies').fill('3');
  await enqueue.getByRole('button', { name: 'Enqueue' }).click();
  await expect(enqueue.getByRole('status')).toHaveText('3 messages committed.');
  await expect(page.getByText('the console').first()).toBeVisible();

  const dequeue = page.getByRole('form', { name: 'Dequeue' });
  await dequeue.getByLabel('At most').fill('10');
  await dequeue.getByRole('button', { name: 'Dequeue' }).click();
  await expect(dequeue.getByRole('status')).toContainText('the console');
  await expect(page.getByText('The queue is empty.')).toBeVisible();
});

test('the console keeps a payload as it was typed', async ({ page, request }) => {
  expect((await request.post('/api/queues', { data: { name: 'exact' } })).status()).toBe(201);
  await page.goto('/queues?queue=exact');
  const typed = '{"b":12345678901234567890, "a":1e400,"a":0.10}';
  await enqueue(page, typed);
  await expect(waiting(page).first()).toContainText(typed);
  await formOf(page, 'Dequeue').getByRole('button', { name: 'Dequeue' }).click();
  await expect(formOf(page, 'Dequeue').getByRole('status')).toContainText(typed);
});

test('a search finds messages by correlation id', async ({ page, request }) => {
  const data = { name: 'sought', correlationIndex: true };
  expect((await request.post('/api/queues', { data })).status()).toBe(201);
  await page.goto('/queues?queue=sought');
  await expect(page.getByText('Correlation ids are indexed.')).toBeVisible();
  await enqueue(page, '"of the order"', { 'Correlation id': 'order-7' });
  await enqueue(page, '"of another"', { 'Correlation id': 'order-8' });

  const list = page.getByRole('list', { name: 'Messages in the queue' });
  await expect(list.getByRole('listitem')).toHaveCount(2);
  const search = page.getByRole('form', { name: 'Search the queue' });
  await search.getByLabel('correlation id').fill('order-7');
  await search.getByRole('button', { name: 'Search' }).click();
  await expect(list.getByRole('listitem')).toHaveCount(1);
  await expect(list).toContainText('of the order');

  await search.getByLabel('correlation id').fill('order-9');
  await search.getByRole('button', { name: 'Search' }).click();
  await expect(page.getByText('No waiting message has the correlation id order-9.')).toBeVisible();
});

test('a topic with two subscribers delivers to each its messages, and shows their backlog', async ({
  page,
}) => {
  await page.goto('/queues');
  const create = formOf(page, 'Create a queue');
  await create.getByLabel('Name').fill('announcements');
  await create.getByText('Topic', { exact: true }).click();
  await create.getByRole('button', { name: 'Create topic' }).click();
  await expect(page.getByText('No subscribers:')).toBeVisible();

  const subscribers = page.getByRole('region', { name: 'Subscribers' });
  for (const name of ['mail', 'push']) {
    await formOf(page, 'Subscribe').getByLabel('Name of a new subscriber').fill(name);
    await formOf(page, 'Subscribe').getByRole('button', { name: 'Subscribe' }).click();
    await expect(subscribers.getByRole('button', { name, exact: true })).toBeVisible();
  }

  await enqueue(page, '"for all"');
  const backlog = (name: string) =>
    rowOf(page, `Unsubscribe`).filter({ hasText: name }).getByRole('cell').first();
  await expect(backlog('mail')).toHaveText('1');
  await expect(backlog('push')).toHaveText('1');
  await formOf(page, 'Enqueue').getByRole('checkbox', { name: 'push' }).check();
  await enqueue(page, '"for push"');
  await expect(backlog('push')).toHaveText('2');

  await expect(page.getByRole('heading', { name: 'Dequeue as mail' })).toBeVisible();
  await formOf(page, 'Dequeue').getByLabel('At most').fill('10');
  await formOf(page, 'Dequeue').getByRole('button', { name: 'Dequeue' }).click();
  await expect(page.getByRole('list', { name: 'Dequeued messages' }).getByRole('listitem')).toHaveCount(1);
  await expect(page.getByText('No messages are waiting for mail.')).toBeVisible();
  await expect(backlog('mail')).toHaveText('0');

  await subscribers.getByRole('button', { name: 'push', exact: true }).click();
  await expect(page).toHaveURL(/subscriber=push/);
  await expect(waiting(page)).toHaveCount(2);
  await expect(waiting(page).nth(1)).toContainText('for push');

  await subscribers.getByRole('button', { name: 'Unsubscribe mail' }).click();
  await expect(subscribers.getByRole('button', { name: 'mail', exact: true })).toHaveCount(0);
});

test('a delayed message shows when it becomes ready, and one that is returned repeatedly ends in the exception queue', async ({
  page,
}) => {
  await page.goto('/queues');
  const create = formOf(page, 'Create a queue');
  await create.getByLabel('Name').fill('orders-to-ship');
  await create.getByRole('checkbox', { name: /Priorities/ }).check();
  await create.getByLabel('Delivery attempts before the exception queue').fill('2');
  await create.getByRole('button', { name: 'Create queue' }).click();

  await enqueue(page, '"much later"', { Delay: '3600000' });
  await expect(waiting(page).first()).toContainText(/Delayed until \d\d:\d\d:\d\d, in /);
  await enqueue(page, '"poison"', { Delay: '', Priority: '9' });
  await expect(waiting(page).first()).toContainText('priority 9');
  await expect(waiting(page).first()).toContainText('Ready: waiting for a consumer.');

  const dequeue = formOf(page, 'Dequeue');
  await dequeue.getByText('Hold', { exact: true }).click();
  for (const attempt of [1, 2]) {
    await dequeue.getByRole('button', { name: 'Dequeue' }).click();
    await expect(waiting(page).first()).toContainText(`(attempt ${attempt} of 2) and held until`);
    await dequeue.getByRole('button', { name: 'Return' }).click();
    await expect(dequeue.getByText('1 message returned.')).toBeVisible();
  }
  await expect(waiting(page), 'only the delayed one is left').toHaveCount(1);

  const facts = page.getByText('A message that is delivered 2 times without being consumed moves to');
  await expect(facts).toContainText('which has 1 message');
  await facts.getByRole('link', { name: 'orders-to-ship.exceptions' }).click();
  await expect(waiting(page).first()).toContainText('poison');
  await expect(waiting(page).first()).toContainText(
    /Moved here from orders-to-ship: .* 2 times without being consumed\./,
  );
  await page.getByRole('button', { name: 'Move back to orders-to-ship' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('1 message would be moved in one transaction.');
  await dialog.getByLabel('To the queue').fill('nowhere');
  await dialog.getByRole('button', { name: 'Count what would be moved' }).click();
  await expect(dialog.getByRole('alert')).toHaveText('There is no queue of this name');
  await expect(dialog.getByLabel('To the queue')).toBeFocused();
  await dialog.getByLabel('To the queue').fill('orders-to-ship');
  await dialog.getByRole('button', { name: 'Count what would be moved' }).click();
  await dialog.getByRole('button', { name: 'Move 1 message' }).click();
  await expect(page.getByText('1 message moved.')).toBeVisible();
  await expect(page.getByText('The queue is empty.')).toBeVisible();
  await page.getByText('Exception queue of').getByRole('link', { name: 'orders-to-ship' }).click();
  await expect(page.getByRole('heading', { level: 2, name: 'orders-to-ship', exact: true })).toBeVisible();
  await page.getByRole('radio', { name: 'Ready' }).check({ force: true });
  await expect(waiting(page), 'the one that was moved back').toHaveCount(1);
  await expect(waiting(page).first()).toContainText('poison');

  await page.getByRole('switch', { name: 'Dequeue of orders-to-ship', exact: true }).click();
  await enqueue(page, '"stuck"');
  await expect(waiting(page).first()).toContainText('Ready, but dequeue is stopped for this queue.');
});

test('text that looks like JSON needs a confirmation, and a refused name is explained at its field', async ({
  page,
  request,
}) => {
  expect((await request.post('/api/queues', { data: { name: 'typed' } })).status()).toBe(201);
  await page.goto('/queues?queue=typed');
  const form = formOf(page, 'Enqueue');
  await form.getByLabel('Payload').fill('{"order": 42');
  await expect(form.getByRole('alert')).toContainText('This looks like JSON, but does not parse');
  await expect(form.getByRole('button', { name: 'Enqueue' })).toBeDisabled();
  await form.getByRole('button', { name: 'Send it as plain text' }).click();
  await form.getByRole('button', { name: 'Enqueue' }).click();
  await expect(form.getByRole('status')).toHaveText('1 message committed.');
  await expect(waiting(page).first()).toContainText('{\\"order\\": 42');

  const create = formOf(page, 'Create a queue');
  await create.getByLabel('Name').fill('1st');
  await create.getByRole('button', { name: 'Create queue' }).click();
  await expect(create.getByRole('alert')).toHaveText(
    'Must be a letter, then letters, digits, dots, dashes or underscores; at most 64 in all; not "1st"',
  );
});

test('a fault that the server finds is explained at its field, which gets the focus', async ({
  page,
  request,
}) => {
  const create = { name: 'refused', type: 'topic', attemptsMax: 1 };
  expect((await request.post('/api/queues', { data: create })).status()).toBe(201);
  const subscriber = { name: 'mail', durable: false };
  expect((await request.post('/api/queues/refused/subscribers', { data: subscriber })).status()).toBe(201);
  await page.goto('/queues?queue=refused');

  const subscribe = formOf(page, 'Subscribe');
  const name = subscribe.getByLabel('Name of a new subscriber');
  await name.fill('mail');
  await subscribe.getByRole('button', { name: 'Subscribe' }).click();
  await expect(subscribe.getByRole('alert')).toHaveText(
    /subscriber of this name with a different durability/,
  );
  await expect(name).toBeFocused();
  await expect(name).toHaveAccessibleDescription(/different durability/);

  const form = formOf(page, 'Enqueue');
  await form.getByLabel('Copies').fill('2,5');
  await form.getByLabel('Correlation id').fill('x'.repeat(513));
  await form.getByRole('button', { name: 'Enqueue' }).click();
  await expect(form.getByLabel('Copies')).toHaveAccessibleDescription('Must be an integer, not "2,5"');
  await expect(form.getByLabel('Copies')).toBeFocused();
  await form.getByLabel('Copies').fill('2');
  await form.getByRole('button', { name: 'Enqueue' }).click();
  await expect(form.getByLabel('Correlation id')).toHaveAccessibleDescription(
    'Must be at most 512 characters long',
  );
  await expect(form.getByLabel('Correlation id')).toBeFocused();
  await form.getByLabel('Correlation id').fill('');
  await form.getByRole('button', { name: 'Enqueue' }).click();
  await expect(form.getByRole('status')).toHaveText('2 messages committed.');
  await expect(form.getByRole('alert')).toHaveCount(0);

  await formOf(page, 'Dequeue').getByLabel('At most').fill('many');
  await formOf(page, 'Dequeue').getByRole('button', { name: 'Dequeue' }).click();
  await expect(formOf(page, 'Dequeue').getByRole('alert')).toHaveText('Must be an integer, not "many"');
  await expect(formOf(page, 'Dequeue').getByLabel('At most')).toBeFocused();
});

test('a long queue is read page by page', async ({ page, request }) => {
  expect((await request.post('/api/queues', { data: { name: 'long' } })).status()).toBe(201);
  const messages = Array.from({ length: 25 }, (_, n) => ({ payload: `message ${n}` }));
  expect((await request.post('/api/queues/long/messages', { data: { messages } })).status()).toBe(201);
  await page.goto('/queues?queue=long');
  await expect(waiting(page)).toHaveCount(20);
  await page.getByRole('button', { name: 'Next page' }).click();
  await expect(waiting(page)).toHaveCount(5);
  await expect(waiting(page).first()).toContainText('message 20');
  await page.getByRole('button', { name: 'Previous page' }).click();
  await expect(waiting(page).first()).toContainText('message 0');
});

test('the trace of a message is requested, follows it through a rollback, and says why it waits', async ({
  page,
  request,
}) => {
  expect((await request.post('/api/queues', { data: { name: 'followed', shards: 1 } })).status()).toBe(201);
  await page.goto('/queues?queue=followed');
  await page.getByRole('tab', { name: 'Trace' }).click();
  await page.getByRole('button', { name: 'Trace the next message' }).click();
  await expect(page.getByText('The next message of this queue is traced, and listed below.')).toBeVisible();
  await page.getByRole('tab', { name: 'Messages' }).click();
  await enqueue(page, '"to be followed"');
  await enqueue(page, '"behind it"');
  const dequeue = formOf(page, 'Dequeue');
  await dequeue.getByText('Hold', { exact: true }).click();
  await dequeue.getByRole('button', { name: 'Dequeue' }).click();
  await dequeue.getByRole('button', { name: 'Return' }).click();
  await waiting(page)
    .first()
    .getByRole('link', { name: /^The life of message/ })
    .click();

  const life = page.getByRole('region', { name: /^Message 100\.1$/ });
  const events = life.getByRole('list', { name: 'Events, oldest first' }).getByRole('listitem');
  await expect(events).toContainText([
    /Enqueued by session 1\.\d+/,
    /Numbered in group \d+, (alone|with \d+ others?), and sent to the writer/,
    /Committed in group \d+, (alone|with \d+ others?), written in .*Waited for the write and its sync/,
    /Cached in memory, to be delivered without a read/,
    /Delivered to session 1\.\d+.*Waited for a consumer/,
    /Held until/,
    /Released by its holder.*Waited for its consumer/,
    /Back in its queue/,
  ]);
  await expect(life).toContainText(
    'Ready and the next to be delivered of its shard, but no consumer asks for a message.',
  );
  await expect(life).toContainText('Recorded from its enqueue on.');
  await expect(page).toHaveURL(/message=%22100\.1%22/);

  await formOf(page, 'Find a message').getByLabel('Id').fill('100.2');
  await formOf(page, 'Find a message').getByRole('button', { name: 'Show its life' }).click();
  const second = page.getByRole('region', { name: 'Message 100.2' });
  await expect(second).toContainText(
    'Ready, but not at the head of its shard: 1 message is delivered before it.',
  );
  await expect(second).toContainText('Nothing was recorded of this message: it is not traced');
  await page
    .getByRole('region', { name: 'Latest traced messages' })
    .getByRole('link', { name: '100.1' })
    .click();
  await expect(events.first()).toContainText('Enqueued');
});
