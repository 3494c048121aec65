/** Served instances and clients that are closed at the end of the test. */
import { expect, onTestFinished } from 'vitest';
import {
  connect,
  type Instance,
  type RemoteInstance,
  type ServedInstance,
  serveInstance,
} from '../../src/index.ts';
import { text } from '../folder.ts';

export const code = (value: string) => expect.objectContaining({ code: value });

export async function serve(instance: Instance, path?: string): Promise<ServedInstance> {
  const served = await serveInstance(instance, path === undefined ? {} : { path });
  onTestFinished(() => served.close());
  return served;
}

export async function connectTo(path: string, connectMs = 10_000): Promise<RemoteInstance> {
  const client = await connect({ path, connectMs });
  onTestFinished(() => client.close());
  return client;
}

/** The payloads that can be dequeued from the queue `q` now. The messages stay held. */
export const drain = async (instance: Instance) =>
  text(await instance.openSession().dequeue('q', { max: 100, waitMs: 0 }));
