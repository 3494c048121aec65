/** The history of a queue over restarts of a real server: one that is killed, and one that is stopped. */
import { join } from 'node:path';
import type { QueueHistory, QueueSample } from '@shardlab/contract';
import Database from 'better-sqlite3';
import { expect, it, vi } from 'vitest';
import { ServerProcess } from './server-process.ts';
import { makeDataDir, waiting } from './start-app.ts';

const headers = { 'content-type': 'application/json' };

class HistoryServer {
  readonly process: ServerProcess;
  readonly url: string;

  private constructor(process: ServerProcess, url: string) {
    this.process = process;
    this.url = url;
  }

  static async start(DATA_DIR: string): Promise<HistoryServer> {
    const process = new ServerProcess({ DATA_DIR });
    return new HistoryServer(process, await process.ready());
  }

  post(path: string, body: unknown): Promise<Response> {
    return fetch(`${this.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  async samples(): Promise<QueueSample[]> {
    const answer = await fetch(`${this.url}/api/queues/orders/history?range=10m`);
    return ((await answer.json()) as QueueHistory).samples;
  }

  /** Waits until there are more samples than these. */
  samplesBeyond(known: readonly QueueSample[]): Promise<QueueSample[]> {
    return vi.waitFor(async () => {
      const samples = await this.samples();
      expect(samples.length).toBeGreaterThan(known.length);
      return samples;
    }, waiting);
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.process.child.kill(signal);
    expect(await this.process.ended).toEqual(
      signal === 'SIGKILL' ? { code: null, signal } : { code: 0, signal: null },
    );
  }
}

function savedRows(dataDir: string): number {
  const file = new Database(join(dataDir, 'lab.db'), { readonly: true });
  try {
    return file.prepare("SELECT count(*) FROM queue_sample WHERE range = '10m'").pluck().get() as number;
  } finally {
    file.close();
  }
}

it('after a kill the history is complete except for the last seconds; after a stop it is complete', {
  timeout: 120_000,
}, async () => {
  const dataDir = makeDataDir();
  const first = await HistoryServer.start(dataDir);
  await first.post('/api/queues', { name: 'orders' });
  const messages = Array.from({ length: 7 }, (_, n) => ({ payload: n }));
  await first.post('/api/queues/orders/messages', { messages });
  const shown = await first.samplesBeyond([]);
  expect(shown.at(-1)!.depth).toBe(7);
  await vi.waitFor(() => expect(savedRows(dataDir)).toBeGreaterThan(0), waiting);
  await first.end('SIGKILL');

  const second = await HistoryServer.start(dataDir);
  const found = await second.samples();
  expect(found[0], 'from before the kill').toEqual(shown[0]);
  await second.post('/api/queues/orders/dequeue', { max: 7, mode: 'at-most-once' });
  const more = await second.samplesBeyond(found);
  const [after] = more.slice(found.length);
  expect(after!.sinceMs, 'a gap').toBeGreaterThan(found.at(-1)!.atMs);
  expect(after!.depth).toBe(0);
  await second.end('SIGTERM');

  const third = await HistoryServer.start(dataDir);
  const all = await third.samples();
  expect(all.slice(0, more.length)).toEqual(more);
  await third.end('SIGTERM');
});
