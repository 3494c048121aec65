/**
 * Sends one message through an instance, from its enqueue to the truncation of its partition, and prints the functions of
 * the engine that were called meanwhile, by thread and source file. Run as `node --import <this file> <this file>`: the
 * import makes the applier's thread record its own calls. Opening, recovery and background polling are left out.
 */
import fs, { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Session as Inspector, type Profiler } from 'node:inspector';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, threadName } from 'node:worker_threads';
import type { PartitionStats } from '../src/api/instance-stats.ts';

const sourceFolder = fileURLToPath(new URL('../src/', import.meta.url));
const writerCallsPath = () => join(process.env.MESSAGE_WAY_FOLDER!, 'writer-calls.json');
const stopPath = () => join(process.env.MESSAGE_WAY_FOLDER!, 'stop');

/** Names of called functions by source file of the engine, relative to its sources. */
type Calls = Record<string, string[]>;

class CallRecorder {
  readonly #inspector = new Inspector();
  readonly calls: Calls = {};

  start(): void {
    this.#inspector.connect();
    this.#inspector.post('Profiler.enable');
    this.#inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** Adds the functions that were called since the last time. */
  take(): void {
    for (const { url, functions } of this.#takeCoverage()) {
      if (!url.startsWith('file:') || !fileURLToPath(url).startsWith(sourceFolder)) continue;
      const names = functions.filter(wasCalled).map(({ functionName }) => functionName || '(anonymous)');
      if (names.length === 0) continue;
      const file = fileURLToPath(url).slice(sourceFolder.length).replaceAll(sep, '/');
      this.calls[file] = [...new Set([...(this.calls[file] ?? []), ...names])];
    }
  }

  /** Adds no function that was called since the last time. */
  skip(): void {
    this.#takeCoverage();
  }

  #takeCoverage(): Profiler.ScriptCoverage[] {
    let scripts: Profiler.ScriptCoverage[] = [];
    this.#inspector.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      scripts = result;
    });
    return scripts;
  }
}

/** The function at offset 0 is the module itself, which runs when it is imported. */
function wasCalled({ ranges: [range] }: Profiler.FunctionCoverage): boolean {
  return range !== undefined && range.count > 0 && range.startOffset > 0;
}

/**
 * Records the calls of the applier's thread, which posts a message once its file is open, and one whenever it has applied groups. Calls
 * after `stopPath` exists belong to the closing and are not recorded.
 */
function recordWriterThread(): void {
  const recorder = new CallRecorder();
  const port = parentPort!;
  const post = port.postMessage.bind(port);
  port.postMessage = (message: { kind: string }) => {
    if (message.kind === 'applied' && !existsSync(stopPath())) recorder.take();
    if (message.kind === 'closed') writeFileSync(writerCallsPath(), JSON.stringify(recorder.calls));
    post(message);
    if (message.kind === 'opened') recorder.start();
  };
}

async function sendMessage(): Promise<void> {
  globalThis.setInterval = (() => ({ unref() {}, ref() {} })) as unknown as typeof setInterval;
  fs.fdatasyncSync = () => undefined; // Short syncs of the log stay on this thread, whatever the disk.
  syncBuiltinESMExports();
  const folder = mkdtempSync(join(tmpdir(), 'message-way-'));
  process.env.MESSAGE_WAY_FOLDER = folder;
  const { openInstance } = await import('../src/index.ts');
  const instance = await openInstance({ dir: folder, partitionMessagesMax: 2, sampleIntervalMs: 3_600_000 });
  await instance.createQueue({ name: 'orders', forwarding: false });
  const session = instance.openSession();
  const recorder = new CallRecorder();
  recorder.start();
  for (let sent = 0; sent < 4; sent += 1) {
    session.enqueue('orders', { payload: 'a message' });
    await session.commit();
    const messages = await session.dequeue('orders', { waitMs: 1_000 });
    if (messages[0]?.payload.toString() !== 'a message') throw new Error('The message did not arrive');
    await session.commit();
  }
  // A partition leaves the statistics once its truncation is applied. Only the last one, which is being filled, remains.
  let partitions: readonly PartitionStats[];
  do {
    await pause(10); // The applier is not asked, as a read would do: it waits for more groups, and then applies them.
    recorder.take();
    partitions = instance.stats().shards[0]!.partitions;
    recorder.skip();
  } while (partitions.some(({ state }) => state !== 'filling'));
  writeFileSync(stopPath(), '');
  await instance.close();
  const writer = JSON.parse(readFileSync(writerCallsPath(), 'utf8')) as Calls;
  rmSync(folder, { recursive: true });
  console.log(JSON.stringify({ session: recorder.calls, writer, partitions: partitions.length }));
}

if (!isMainThread) {
  if (threadName === 'writer-thread') recordWriterThread();
} else if (process.argv[1] === fileURLToPath(import.meta.url) && process.env.MESSAGE_WAY_RUNS === undefined) {
  process.env.MESSAGE_WAY_RUNS = '1';
  await sendMessage();
}
