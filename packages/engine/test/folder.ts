/** A folder of its own for each test, and instances that are closed when the test ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Instance, type InstanceOptions, openInstance } from '../src/index.ts';

export function makeFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Opens an instance, in a folder of its own unless one is named. */
export async function openTestInstance(options: Partial<InstanceOptions> = {}): Promise<Instance> {
  const instance = await openInstance({ dir: options.dir ?? makeFolder(), ...options });
  onTestFinished(() => instance.close());
  return instance;
}

export const text = (messages: { payload: Buffer }[]) =>
  messages.map((message) => message.payload.toString());
