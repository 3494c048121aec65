/** What every journey starts from: a server that its worker shares, and short words for its REST calls. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type APIRequestContext,
  type BrowserContext,
  test as base,
  expect,
  type Page,
  type PlaywrightWorkerArgs,
} from '@playwright/test';
import { LabServer } from './server.ts';

export { expect };

export const test = base.extend<object, { server: LabServer; browsing: BrowserContext; visitor: Page }>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern
    async ({}, use, { workerIndex }) => {
      const server = await LabServer.start(`server-${workerIndex}.log`);
      await use(server);
      const code = await server.stop();
      if (code !== 0)
        throw new Error(`the server ended with ${code} on SIGTERM; its last output:\n${server.output}`);
    },
    { scope: 'worker', timeout: 90_000 },
  ],
  // Journeys share a browser context, which then has the dashboard's scripts compiled: that takes longer than many of them.
  browsing: [
    async ({ browser, server }, use, { project }) => {
      const { contextOptions, viewport = null } = project.use;
      const context = await browser.newContext({ ...contextOptions, viewport, baseURL: server.url });
      await use(context);
      await context.close();
    },
    { scope: 'worker' },
  ],
  context: ({ browsing }, use) => use(browsing),
  // A page of its own, and nothing that an earlier journey left: the dashboard keeps a theme and a session.
  page: async ({ browsing, server }, use) => {
    const page = await browsing.newPage();
    await use(page);
    if (page.url().startsWith(server.url)) await page.evaluate(() => localStorage.clear());
    await page.close();
    await browsing.clearCookies();
  },
  // A page that journeys which only look at addresses share too, one after the other.
  visitor: [
    async ({ browsing }, use) => {
      const page = await browsing.newPage();
      await use(page);
      await page.close();
    },
    { scope: 'worker' },
  ],
  baseURL: ({ server }, use) => use(server.url),
});

/** A server of its own, with its calls: for what may kill or suspend it, or needs settings. Always ended afterwards. */
export async function withServer(
  {
    playwright,
    logName,
    env,
  }: Pick<PlaywrightWorkerArgs, 'playwright'> & { logName: string; env?: Record<string, string> },
  use: (server: LabServer, request: APIRequestContext) => Promise<void>,
): Promise<void> {
  const server = await LabServer.start(logName, env);
  const request = await playwright.request.newContext({ baseURL: server.url });
  try {
    await use(server, request);
  } finally {
    await request.dispose();
    server.resume();
    await server.stop();
  }
}

/** Puts a file where the folders of trials are, so that the run under way fails, and the next one. */
export function failRuns({ dataDir }: LabServer): void {
  const folder = join(dataDir, 'runs');
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'not a folder');
}

export const mendRuns = ({ dataDir }: LabServer): void => rmSync(join(dataDir, 'runs'));

/** What throws in a page meanwhile. `end` must be called: the page may be shared. */
export function errorsIn(page: Page): { errors: string[]; end(): void } {
  const errors: string[] = [];
  const add = (error: Error) => void errors.push(error.message);
  page.on('pageerror', add);
  return { errors, end: () => page.off('pageerror', add) };
}

/** What the journeys read of a run; the server's schema says the rest. */
export interface RunAnswer {
  id: string;
  status: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  startedAtMs: number | null;
  endedAtMs: number | null;
  progress: { done: number; total: number };
  error: { code: string; message: string; details?: unknown } | null;
  points: {
    system: string;
    params: Record<string, number | string>;
    figures: Record<string, { value: number }>;
    integrity: { lost: number; duplicated: number; damaged: number; outOfOrder: number };
  }[];
  claims: {
    id: string;
    document: string;
    verdict: 'holds' | 'mixed' | 'does-not-hold' | 'inconclusive' | 'not-comparable';
    reason: string;
    provisional: boolean;
  }[];
}

export type Document = Record<string, unknown>;

/** A document of `scenarios/`. */
export function scenarioFile(id: string): Document {
  return JSON.parse(readFileSync(new URL(`../scenarios/${id}.json`, import.meta.url), 'utf8'));
}

/** Shorter than any in `scenarios/`: what is shown of a run and its integrity do not depend on how long it measures. */
const shortPhases = { warmupMs: 100, measureMs: 250, drainMs: 400 };

/**
 * A document of `scenarios/`, each point measured for a moment only. `sweep`: other values of its axes; `kills`: whether trials
 * are killed to show durability.
 */
export function shortScenario(id: string, { sweep, kills }: { sweep: Document; kills: boolean }): Document {
  const document = scenarioFile(id);
  const quick = document.quick as Document;
  return { ...document, kills, quick: { ...quick, phases: shortPhases, sweep } };
}

export async function startRun(
  request: APIRequestContext,
  scenario: string | Document,
  scale: 'quick' | 'full' = 'quick',
): Promise<string> {
  const answer = await request.post('/api/runs', { data: { scenario, scale } });
  expect(answer.status()).toBe(202);
  return (await answer.json()).id;
}

export async function readRun(request: APIRequestContext, id: string): Promise<RunAnswer> {
  const answer = await request.get(`/api/runs/${id}`);
  expect(answer.status()).toBe(200);
  return answer.json();
}

/** A run long enough to act on while it continues: points come every second or two, of which there are 24. */
export function longScenario(id: string): Document {
  return {
    ...scenarioFile('first-look'),
    id,
    title: `Long: ${id}`,
    systems: ['sharded', 'unsharded'],
    sweep: {
      instances: [1],
      threads: [1, 2, 3, 4, 5, 6],
      roundTripMs: [5, 10],
    },
    kills: false, // a killed trial is no point
    quick: { phases: { warmupMs: 100, measureMs: 400, drainMs: 200 }, repeats: 1 },
  };
}

/** Journeys run beside other tests; the page would ask whether to measure all the same. */
export const idleMachine = (page: Page) => machineIs(page, { coresBusy: 0, loadRunning: false });

export async function machineIs(page: Page, state: { coresBusy: number; loadRunning: boolean }) {
  await page.route('**/api/machine', (route) =>
    route.fulfill({ json: { cores: 2, runsUnderWay: 0, calibrating: false, ...state } }),
  );
}
