/** Opens the sharded queues of an instance over its file. */

import type { InstancePorts } from '../model/ports.ts';
import { instanceFilePath } from '../storage/instance-file/instance-file.ts';
import { ReaderThread } from '../storage/threads/reader-thread-client.ts';
import { WriterThread } from '../storage/threads/writer-thread-client.ts';
import { assembleParts, type ShardedOptions, type ShardedParts } from './assemble-sharded.ts';
import { assertCatalogKnows, recoverSharded } from './recover-sharded.ts';

/** Opens or recovers the instance's file. Throws the storage errors, `COMMITS_MISSING`. */
export async function openSharded(options: ShardedOptions & { ports: InstancePorts }): Promise<ShardedParts> {
  const path = instanceFilePath(options.dir, options.instance);
  const { emulatedSync, logBytesMax, ports } = options;
  const { writer, recovered } = await WriterThread.start({ path, emulatedSync, logBytesMax }, ports);
  try {
    assertCatalogKnows(options, recovered);
    const parts = assembleParts(options, { writer, reader: new ReaderThread(path), recovered });
    writer.attach(parts.groupCommit);
    recoverSharded(parts, options, recovered);
    return parts;
  } catch (error) {
    await writer.close();
    throw error;
  }
}
