/**
 * Measures what the run page costs while a run is measured: 20 series (2 rates, 2 latencies, CPU of 11 instances, 5 classes of
 * waits) at 4 samples a second, for half a minute or `--minutes`. The page and the server are the real ones; only the events of the
 * run are generated here, so that the cost of each update is known. Prints main-thread time of an update, dropped frames and heap,
 * and then how soon the What-if page answers each step of a slider.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type CDPSession, chromium, type Page } from '@playwright/test';
import { LabServer } from './server.ts';
import { measureWhatIf } from './what-if-response.ts';

const sampleMs = 250;
const instances = 11;
const usualMinutes = 0.5;
/** Updates at the start that are not counted, since the browser still compiles the page's code. */
const warmUpSamples = 12;

const { values } = parseArgs({ options: { minutes: { type: 'string' } } });
const minutes = Number(values.minutes ?? usualMinutes);
if (!(minutes > 0 && minutes <= 60)) throw new RangeError('--minutes must be over 0 and at most 60');

interface Sample {
  /** Main-thread time since the previous sample, in milliseconds. */
  taskMs: number;
  /** Dropped frames since the previous sample: a gap of more than one and a half frames counts the missing ones. */
  dropped: number;
}

const fixture = JSON.parse(
  readFileSync(new URL('fixtures/figure-3.json', import.meta.url), 'utf8'),
) as Record<string, unknown>;
const params = { instances, threads: 32, roundTripMs: 0, operationsPerTransaction: 10, backlogMax: 20_000 };

/** A run of Figure 3 that has just begun. */
const begun = {
  ...fixture,
  id: 'bench',
  status: 'running',
  createdAtMs: Date.now(),
  startedAtMs: Date.now(),
  endedAtMs: null,
  points: [],
  progress: { done: 0, total: 12, etaMs: null },
};

/** A tick with rates and waits that vary over time, like measured ones. */
function tick(index: number): object {
  const wave = (place: number, period: number) => 1 + 0.4 * Math.sin((index + 7 * place) / period);
  const one = (place: number) => ({
    instance: place + 1,
    spanMs: 250,
    enqueuePerSec: 900 * wave(place, 9),
    dequeuePerSec: 880 * wave(place, 11),
    cpu: 0.15 * wave(place, 5),
    latencyMs: { p50: 4 * wave(place, 13), p99: 22 * wave(place, 17) },
    waitMsByClass: {
      commit: 420 * wave(place, 6),
      concurrency: 60 * wave(place, 8),
      configuration: 12 * wave(place, 10),
      network: 5 * wave(place, 12),
      idle: 40 * wave(place, 14),
    },
    shards: [
      {
        shard: 1,
        backlog: Math.round(300 * wave(place, 4)),
        partitions: [1, 2, 3].map((partition) => ({
          partition,
          state: 'open',
          fill: 0.3 * partition,
          drained: 0.2 * partition,
        })),
      },
    ],
  });
  return {
    atMs: index * sampleMs,
    trial: 1,
    program: 'queue',
    system: 'sharded',
    params,
    phase: 'measure',
    instances: Array.from({ length: instances }, (_, place) => one(place)),
  };
}

/** Replaces the browser's `EventSource`, which the run page opens once: the bench sends events with `window.sendToRun`. */
const replaceEventSource = () => {
  const page = globalThis as unknown as {
    EventSource: unknown;
    sendToRun?: (type: string, data: string) => void;
  };
  page.EventSource = class extends EventTarget {
    readonly readyState = 1;

    constructor() {
      super();
      page.sendToRun = (type, data) => this.dispatchEvent(new MessageEvent(type, { data }));
      queueMicrotask(() => this.dispatchEvent(new Event('open')));
    }

    close(): void {}
  };
};

/** Counts dropped frames in `window.framesDropped`, since it was last read. */
const countFrames = () => {
  const counted = globalThis as unknown as { framesDropped: number };
  counted.framesDropped = 0;
  const frameMs = 1_000 / 60;
  let before = performance.now();
  const onFrame = (now: number) => {
    counted.framesDropped += Math.max(0, Math.round((now - before) / frameMs) - 1);
    before = now;
    requestAnimationFrame(onFrame);
  };
  requestAnimationFrame(onFrame);
};

const framesDropped = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const counted = globalThis as unknown as { framesDropped: number };
    const { framesDropped: dropped } = counted;
    counted.framesDropped = 0;
    return dropped;
  });

async function taskMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0);
}

async function heapMB(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize / 1e6;
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;

const server = await LabServer.start('bench-web.log');
const executablePath = process.env.CHROMIUM_PATH;
const browser = await chromium.launch({
  ...(executablePath === undefined ? {} : { executablePath }),
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  await page.addInitScript(replaceEventSource);
  await page.addInitScript(countFrames);
  await page.goto(`${server.url}/runs/bench`);
  await page.waitForFunction(() => 'sendToRun' in globalThis);
  const send = ({ type, ...rest }: { type: string; run?: object; ticks?: object[]; tick?: object }) =>
    page.evaluate(
      ([name, data]) =>
        (globalThis as unknown as { sendToRun(type: string, data: string): void }).sendToRun(name!, data!),
      [type, JSON.stringify({ type, ...rest })],
    );
  await send({ type: 'snapshot', run: begun, ticks: [] });
  await page.getByRole('heading', { level: 1 }).waitFor();

  const samples: Sample[] = [];
  const heaps: number[] = [];
  const count = Math.round((minutes * 60_000) / sampleMs);
  const aMinute = 60_000 / sampleMs;
  const startedMs = performance.now();
  let before = await taskMs(session);
  for (let index = 0; index < warmUpSamples + count; index += 1) {
    await send({ type: 'tick', tick: tick(index) });
    await pause(Math.max(0, startedMs + (index + 1) * sampleMs - performance.now()));
    const [now, dropped] = [await taskMs(session), await framesDropped(page)];
    if (index >= warmUpSamples) samples.push({ taskMs: now - before, dropped });
    before = now;
    if (index === warmUpSamples || (index - warmUpSamples) % aMinute === aMinute - 1) {
      heaps.push(await heapMB(session));
      // Time of the garbage collection that the bench requested must not count as work of the page.
      before = await taskMs(session);
      await framesDropped(page);
    }
  }
  heaps.push(await heapMB(session));
  const series = await page.locator('.split .chart path').count();
  const times = samples.map((sample) => sample.taskMs).sort((a, b) => a - b);
  const ms = (share: number) => `${quantile(times, share).toFixed(1)} ms`;
  const frames = (samples.length * sampleMs * 60) / 1_000;
  const dropped = samples.reduce((sum, sample) => sum + sample.dropped, 0);
  console.log(`${samples.length} samples in ${minutes} min, 20 series, ${series} paths drawn`);
  console.log(`main thread an update: p50 ${ms(0.5)}, p95 ${ms(0.95)}, max ${ms(1)}`);
  console.log(`frames left out: ${dropped} of ${frames} (${((100 * dropped) / frames).toFixed(1)} %)`);
  console.log(`heap after a collection: ${heaps.map((heap) => heap.toFixed(1)).join(', ')} MB`);
  await page.close();
  const { answersMs, moves } = await measureWhatIf(browser, server.url);
  const answer = (share: number) => `${quantile(answersMs, share).toFixed(0)} ms`;
  console.log(
    `What-if, ${moves} moves of a slider: ${answersMs.length} redrawn before the next, p50 ${answer(0.5)}, p95 ${answer(0.95)}, max ${answer(1)}`,
  );
} finally {
  await browser.close();
  await server.stop();
}
