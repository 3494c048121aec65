/** Every page, in both themes, on a desktop and on a phone: readable by a screen reader, never wider than the screen. */
import type { APIRequestContext, Page } from '@playwright/test';
import { expect, readRun, shortScenario, startRun, test } from './journey.ts';
import { expectReadable, keepPicture, showIn, sizes, themes } from './readable.ts';

/** What the pages show: a finished run, a queue and a topic with messages, a load that ended. Made once; the server keeps all. */
async function furnish(request: APIRequestContext): Promise<{ run: string }> {
  const { runs } = await (await request.get('/api/runs')).json();
  const done = (runs as { id: string; status: string }[]).find(({ status }) => status === 'done');
  const queue = await request.post('/api/queues', { data: { name: 'parcels' } });
  if (queue.status() === 201) {
    const messages = Array.from({ length: 12 }, (_, parcel) => ({ payload: { parcel } }));
    expect((await request.post('/api/queues/parcels/messages', { data: { messages } })).status()).toBe(201);
  }
  const topic = await request.post('/api/queues', {
    data: { name: 'news', type: 'topic', priorities: true, attemptsMax: 3 },
  });
  if (topic.status() === 201) {
    for (const name of ['mail', 'push'])
      expect((await request.post('/api/queues/news/subscribers', { data: { name } })).status()).toBe(201);
    const messages = [
      { payload: 'now', priority: 9 },
      { payload: 'later', delayMs: 3_600_000 },
    ];
    expect((await request.post('/api/queues/news/messages', { data: { messages } })).status()).toBe(201);
  }
  const loadOf = async () => (await (await request.get('/api/cluster/load')).json()).load;
  if ((await loadOf()) === null) {
    expect((await request.post('/api/cluster/load', { data: { durationMs: 1_500 } })).status()).toBe(202);
  }
  await expect.poll(async () => (await loadOf()).state).toBe('done');
  if (done !== undefined) return { run: done.id };
  const run = await startRun(request, shortScenario('first-look', { instances: [1], threads: [1, 8] }));
  await expect.poll(async () => (await readRun(request, run)).status, { timeout: 240_000 }).toBe('done');
  return { run };
}

const pages: { name: string; address(run: string): string }[] = [
  { name: 'start', address: () => '/' },
  { name: 'start-claim', address: () => '/?claim=A4' },
  { name: 'scenarios', address: () => '/scenarios' },
  { name: 'scenario', address: () => '/scenarios/white-paper-figure-3' },
  { name: 'runs', address: () => '/runs' },
  { name: 'run', address: (run) => `/runs/${run}` },
  { name: 'documents', address: () => '/documents' },
  { name: 'document', address: () => '/documents/white-paper' },
  { name: 'what-if', address: (run) => `/what-if?hardware=exadata-x4-2&run=${run}&roundTripMs=0` },
  { name: 'editor-run', address: (run) => `/editor?run=${run}` },
  { name: 'queues', address: () => '/queues?queue=parcels' },
  { name: 'topic', address: () => '/queues?queue=news' },
  { name: 'cluster', address: () => '/cluster' },
  { name: 'not-found', address: () => '/no/such/page' },
];

// The longest of all files: both workers take a part.
test.describe.configure({ mode: 'parallel' });

async function open(page: Page, address: string) {
  await page.goto(address);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.getByText(/^Loading /)).toHaveCount(0);
}

for (const { name, address } of pages) {
  test(`${name} in both themes, on a desktop and on a phone`, async ({ page, request }) => {
    test.setTimeout(300_000);
    const { run } = await furnish(request);
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    for (const size of sizes) {
      await showIn(page, themes[0], size);
      await open(page, address(run));
      for (const theme of themes) {
        await test.step(`in ${theme} on a ${size}`, async () => {
          await showIn(page, theme, size);
          await keepPicture(page, `${name}-${theme}-${size}`);
          await expectReadable(page, theme);
          expect(errors, 'errors in the page').toEqual([]);
        });
      }
    }
  });
}
