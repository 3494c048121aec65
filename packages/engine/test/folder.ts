/** A folder of its own for each test, and instances that are closed when the test ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { limits } from '../src/api/limits.ts';
import {
  connect,
  type Instance,
  type InstanceOptions,
  openInstance,
  type RemoteInstance,
  serveInstance,
} from '../src/index.ts';

export function makeFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** For all tests of a file. */
export function makeKeptFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/**
 * Opens an instance, in a folder of its own unless one is named. Unless asked it takes no samples while the test lasts: each can
 * be a group, and tests count groups.
 */
export async function openTestInstance(options: Partial<InstanceOptions> = {}): Promise<Instance> {
  const dir = options.dir ?? makeFolder();
  const instance = await openInstance({ sampleIntervalMs: limits.sampleMsMax, ...options, dir });
  onTestFinished(() => instance.close());
  return instance;
}

/** Serves an instance and connects to it. */
export async function openTestClient(instance: Instance): Promise<RemoteInstance> {
  const served = await serveInstance(instance);
  onTestFinished(() => served.close());
  const client = await connect({ path: served.path });
  onTestFinished(() => client.close());
  return client;
}

export const text = (messages: { payload: Buffer }[]) =>
  messages.map((message) => message.payload.toString());
