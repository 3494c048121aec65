/** Apps with data folders of their own, for injected requests. Everything is closed and removed after the test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ErrorBody, Run, Scenario } from '@shardlab/contract';
import { afterAll, afterEach, beforeAll, onTestFinished, vi } from 'vitest';
import { type AppOptions, createApp } from '../src/app.ts';
import type { App } from '../src/http/app-types.ts';
import { listeningPort } from '../src/http/listening-port.ts';
import { expectAnswersAsDescribed } from './check-answers.ts';

export interface Answer<T = unknown> {
  status: number;
  headers: Record<string, unknown>;
  body: T;
}

export interface TestApp {
  app: App;
  dataDir: string;
  get<T = unknown>(url: string, headers?: Record<string, string>): Promise<Answer<T>>;
  post<T = unknown>(url: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<T>>;
  /** Sends a text as the body, unchanged. */
  postText<T = ErrorBody>(url: string, text: string, contentType?: string): Promise<Answer<T>>;
  put<T = unknown>(url: string, body: unknown): Promise<Answer<T>>;
  remove<T = unknown>(url: string): Promise<Answer<T>>;
  close(): Promise<void>;
}

export const makeFolder = () => mkdtempSync(join(tmpdir(), 'shardlab-server-'));
export const removeFolder = (dir: string) => rmSync(dir, { recursive: true, force: true });

export function makeDataDir(): string {
  const dataDir = makeFolder();
  onTestFinished(() => removeFolder(dataDir));
  return dataDir;
}

export async function startApp(options: Partial<AppOptions> = {}): Promise<TestApp> {
  const dataDir = options.dataDir ?? makeDataDir();
  onTestFinished(expectAnswersAsDescribed);
  const test = await openApp({ ...options, dataDir });
  onTestFinished(test.close);
  return test;
}

/** One app for all tests of a file, with an empty queue `q`, for tests that change nothing. */
export function shareApp(): () => TestApp {
  const dataDir = makeFolder();
  let test: TestApp;
  beforeAll(async () => {
    test = await openApp({ dataDir });
    await test.post('/api/queues', { name: 'q' });
  });
  afterEach(expectAnswersAsDescribed);
  afterAll(async () => {
    await test.close();
    removeFolder(dataDir);
  });
  return () => test;
}

/** Opens an app, which the caller must close. */
export async function openApp(options: AppOptions): Promise<TestApp> {
  const { dataDir } = options;
  // The recorded runs of the repository are left out, since they differ between versions.
  const app = await createApp({ recordedDir: join(dataDir, 'recorded'), ...options });
  const close = () => app.close();
  const call = async (
    method: string,
    url: string,
    payload?: string,
    headers: Record<string, string> = {},
  ) => {
    const port = listeningPort(app);
    const response = await app.inject({
      method: method as 'GET',
      url,
      headers: { host: port === null ? '127.0.0.1' : `127.0.0.1:${port}`, ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    const type = String(response.headers['content-type'] ?? '');
    return {
      status: response.statusCode,
      headers: response.headers,
      body: type.startsWith('application/json') && response.body !== '' ? response.json() : response.body,
    };
  };
  const json = { 'content-type': 'application/json' };
  return {
    app,
    dataDir,
    close,
    get: (url, headers) => call('GET', url, undefined, headers),
    post: (url, body, headers) =>
      body === undefined
        ? call('POST', url, undefined, headers)
        : call('POST', url, JSON.stringify(body), { ...json, ...headers }),
    postText: (url, text, contentType = 'application/json') =>
      call('POST', url, text, { 'content-type': contentType }),
    put: (url, body) => call('PUT', url, JSON.stringify(body), json),
    remove: (url) => call('DELETE', url),
  };
}

/** A scenario with one point of a few hundred milliseconds, on the real engine. */
export function smallScenario(changes: Partial<Scenario> = {}): Scenario {
  return {
    version: 2,
    id: 'small',
    title: 'One small point',
    question: 'Does it run?',
    claims: ['A3'],
    seed: 7,
    program: 'queue',
    parameters: {
      durability: 'relaxed',
      payloadBytes: 64,
      operationsPerTransaction: 10,
      backlogMax: 1000,
    },
    systems: ['sharded'],
    sweep: { instances: [1], threads: [1] },
    phases: { warmupMs: 0, measureMs: 100, drainMs: 500 },
    repeats: 1,
    kills: false,
    ...changes,
  };
}

/** A scenario whose only point takes longer than any test, with a load that leaves enough CPU to the test. */
export function endlessScenario(): Scenario {
  return smallScenario({
    id: 'endless',
    sweep: { instances: [1], threads: [1], roundTripMs: [20] },
    phases: { warmupMs: 0, measureMs: 600_000, drainMs: 0 },
  });
}

/** Starts a run, and resolves with it when it has ended. */
export async function runToEnd(test: TestApp, scenario: Scenario): Promise<Run> {
  const { body } = await test.post<{ id: string }>('/api/runs', { scenario });
  // This resolves when the run has ended, since its event stream closes then.
  await test.app.inject({ url: `/api/runs/${body.id}/events`, headers: { host: 'localhost' } });
  return (await test.get<Run>(`/api/runs/${body.id}`)).body;
}

/** Resolves when this number of dequeue calls is waiting. */
export async function untilDequeuesUnderWay({ get }: TestApp, count: number): Promise<void> {
  await vi.waitFor(async () => {
    const metrics = String((await get('/metrics')).body);
    if (!metrics.includes(`shardlab_dequeues_under_way ${count}\n`)) throw new Error(`not ${count} yet`);
  }, waiting);
}

/** Options to wait for a state; the timeout is long, since the machine may be busy. */
export const waiting = { timeout: 20_000, interval: 10 } as const;
