/** Loads the package of the NATS store when it is first used: the engine works without it. */
import { QueueError } from '../api/errors.ts';
import type { NatsOptions, NatsStoreOptions, QueueStore } from '../api/store.ts';

interface StorePackage {
  openJetStream(options: NatsStoreOptions & { servers: string | string[] }): Promise<QueueStore>;
}

/**
 * Opens queues on the servers of a NATS cluster. Throws `STORE_NOT_INSTALLED` without the package, and what its
 * `openJetStream` throws.
 */
export async function openNatsStore(
  { nats, ...options }: NatsOptions,
  storePackage = '@shardlab/jetstream',
): Promise<QueueStore> {
  const { openJetStream } = await importStore(storePackage);
  return openJetStream({ servers: nats, ...options });
}

async function importStore(storePackage: string): Promise<StorePackage> {
  try {
    return (await import(storePackage)) as StorePackage;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const missing = /Cannot find package '([^']+)'/.exec(message)?.[1] ?? storePackage;
    throw new QueueError('STORE_NOT_INSTALLED', {
      message: `Queues on NATS need the package ${missing}, which is not installed: npm install ${storePackage}`,
      details: { package: missing },
      cause,
    });
  }
}
