/** Every page of the dashboard with content on it, and its path in the router. */
import { readFileSync } from 'node:fs';
import type { APIRequestContext, Page } from '@playwright/test';
import { expect, readRun, shortScenario, startRun } from './journey.ts';

/** Ids of two runs: one of this server, and an imported one of Figure 3. */
export interface Furnished {
  run: string;
  figure3: string;
}

interface ListedRun {
  id: string;
  scenarioId: string;
  status: string;
  imported?: boolean;
}

/** Imports a run of `fixtures/`, unless the server has it already. Returns its id. */
export async function importOnce(request: APIRequestContext, fixture: string): Promise<string> {
  const run = JSON.parse(readFileSync(new URL(`fixtures/${fixture}.json`, import.meta.url), 'utf8'));
  const { runs } = await (await request.get('/api/runs?limit=100')).json();
  const known = (runs as ListedRun[]).find(
    ({ imported, scenarioId }) => imported === true && scenarioId === run.scenario.id,
  );
  if (known !== undefined) return known.id;
  const answer = await request.post('/api/runs/import', { data: run });
  expect(answer.status()).toBe(201);
  return (await answer.json()).id;
}

/** Creates the content of the pages once for each server: two finished runs, a queue and a topic with messages, and a load that ended. */
export async function furnish(request: APIRequestContext): Promise<Furnished> {
  const figure3 = await importOnce(request, 'figure-3');
  const { runs } = await (await request.get('/api/runs')).json();
  const done = (runs as ListedRun[]).find(({ status, imported }) => status === 'done' && !imported);
  const queue = await request.post('/api/queues', { data: { name: 'parcels' } });
  if (queue.status() === 201) {
    expect((await request.post('/api/queues/parcels/traces', { data: { next: 1 } })).status()).toBe(204);
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
  if (done !== undefined) return { run: done.id, figure3 };
  const run = await startRun(
    request,
    shortScenario('first-look', { sweep: { instances: [1], threads: [1, 8] }, kills: false }),
  );
  await expect.poll(async () => (await readRun(request, run)).status, { timeout: 240_000 }).toBe('done');
  return { run, figure3 };
}

export interface ShownPage {
  name: string;
  /** The path in the router; null for an address that it does not know. */
  route: string | null;
  address(ids: Furnished): string;
}

export const pages: readonly ShownPage[] = [
  { name: 'start', route: '/', address: () => '/' },
  { name: 'start-claim', route: '/', address: () => '/?claim=A4' },
  { name: 'scenarios', route: '/scenarios', address: () => '/scenarios' },
  {
    name: 'scenario',
    route: '/scenarios/$scenarioId',
    address: () => '/scenarios/white-paper-figure-3',
  },
  { name: 'runs', route: '/runs', address: () => '/runs' },
  { name: 'run', route: '/runs/$runId', address: ({ run }) => `/runs/${run}` },
  { name: 'run-presented', route: '/runs/$runId', address: ({ run }) => `/runs/${run}?present=true` },
  { name: 'explain', route: '/runs/$runId/explain', address: ({ run }) => `/runs/${run}/explain` },
  {
    name: 'compare',
    route: '/compare',
    address: ({ run, figure3 }) =>
      `/compare?${new URLSearchParams({ runs: JSON.stringify([run, figure3]) })}`,
  },
  { name: 'documents', route: '/documents', address: () => '/documents' },
  { name: 'document', route: '/documents/$studyId', address: () => '/documents/white-paper' },
  { name: 'claims', route: '/claims', address: () => '/claims' },
  { name: 'learn', route: '/learn', address: () => '/learn' },
  { name: 'lesson', route: '/learn/$lessonId', address: () => '/learn/lesson-sharding' },
  { name: 'lesson-choice', route: '/learn/$lessonId', address: () => '/learn/lesson-xa?guess=1' },
  {
    name: 'what-if',
    route: '/what-if',
    address: ({ run }) => `/what-if?hardware=exadata-x4-2&run=${run}&roundTripMs=0`,
  },
  { name: 'editor-run', route: '/editor', address: ({ run }) => `/editor?run=${run}` },
  { name: 'queues', route: '/queues', address: () => '/queues?queue=parcels' },
  { name: 'queue-monitor', route: '/queues', address: () => '/queues?queue=parcels&tab=monitor' },
  {
    name: 'message-life',
    route: '/queues',
    address: () => `/queues?${new URLSearchParams({ queue: 'parcels', tab: 'trace', message: '"100.1"' })}`,
  },
  { name: 'topic', route: '/queues', address: () => '/queues?queue=news' },
  { name: 'cluster', route: '/cluster', address: () => '/cluster' },
  { name: 'api', route: '/docs', address: () => '/docs' },
  { name: 'api-call', route: '/docs', address: () => '/docs?call=post-api-queues-queue-messages' },
  { name: 'not-found', route: null, address: () => '/no/such/page' },
];

/** Opens a page and waits until it shows what it loads. */
export async function open(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.getByText(/^Loading /)).toHaveCount(0);
}

/** The paths of the router in the browser. */
export function routesOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { __TSR_ROUTER__: router } = globalThis as unknown as {
      __TSR_ROUTER__: { routesByPath: Record<string, unknown> };
    };
    return Object.keys(router.routesByPath);
  });
}
