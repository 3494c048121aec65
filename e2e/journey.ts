/** What every journey uses: a server for each worker, pages, and functions for REST calls. */
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
  // The journeys of a worker share a browser context, so that the dashboard's scripts are compiled once; that takes longer than
  // many journeys.
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
  // Each journey has a page of its own, without the theme and the session that an earlier journey may have stored.
  page: async ({ browsing, server }, use) => {
    const page = await browsing.newPage();
    await use(page);
    if (page.url().startsWith(server.url)) await page.evaluate(() => localStorage.clear());
    await page.close();
    await browsing.clearCookies();
  },
  // Journeys that only open addresses also share a page, one after the other.
  visitor: [
    async ({ browsing }, use) => {
      const page = await browsing.newPage();
      // A window in full screen cannot be resized. What a test evaluates counts as a gesture of the user, so the presenter view would
      // sometimes be granted full screen; refused, it fills the window.
      await page.addInitScript(() => {
        Element.prototype.requestFullscreen = () => Promise.reject(new TypeError('refused by the test'));
      });
      await use(page);
      await page.close();
    },
    { scope: 'worker' },
  ],
  baseURL: ({ server }, use) => use(server.url),
});

/** Runs a journey with a server of its own, which it may kill, suspend or start with other settings. The server is always ended. */
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

/** Replaces the folder of trials by a file, so that the run under way and the next one fail. */
export function failRuns({ dataDir }: LabServer): void {
  const folder = join(dataDir, 'runs');
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'not a folder');
}

export const mendRuns = ({ dataDir }: LabServer): void => rmSync(join(dataDir, 'runs'));

/** Collects errors that are thrown in a page until `end` is called, which is necessary since the page may be shared. */
export function errorsIn(page: Page): { errors: string[]; end(): void } {
  const errors: string[] = [];
  const add = (error: Error) => void errors.push(error.message);
  page.on('pageerror', add);
  return { errors, end: () => page.off('pageerror', add) };
}

/** The fields of a run that journeys read; the server's schema has all. */
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

/** The scenario document of `scenarios/` with this id. */
export function scenarioFile(id: string): Document {
  return JSON.parse(readFileSync(new URL(`../scenarios/${id}.json`, import.meta.url), 'utf8'));
}

/** Phases shorter than any in `scenarios/`, since the pages and the integrity of a run do not depend on how long it measures. */
const shortPhases = { warmupMs: 100, measureMs: 250, drainMs: 400 };

/**
 * A document of `scenarios/` with very short phases. `sweep` has the values of its axes; `kills` says whether trials are killed to
 * show durability.
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

/** The scenario of a run that is long enough for actions while it continues: 24 points, one every second or two. */
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
    kills: false, // a killed trial gives no point
    quick: { phases: { warmupMs: 100, measureMs: 400, drainMs: 200 }, repeats: 1 },
  };
}

/** Makes the machine look idle. Other tests run at the same time, so that the page would ask for a confirmation before it measures. */
export const idleMachine = (page: Page) => machineIs(page, { coresBusy: 0, loadRunning: false });

export async function machineIs(page: Page, state: { coresBusy: number; loadRunning: boolean }) {
  await page.route('**/api/machine', (route) =>
    route.fulfill({ json: { cores: 2, runsUnderWay: 0, calibrating: false, ...state } }),
  );
}
