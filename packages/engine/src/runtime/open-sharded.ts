/** Opens the sharded queues of an instance over its file. */

import { stopReason } from '../commit/instance-failure.ts';
import type { Epoch } from '../model/ids.ts';
import type { InstancePorts } from '../model/ports.ts';
import { instanceFilePath } from '../storage/instance-file/instance-file.ts';
import { ReaderThread } from '../storage/threads/reader-thread-client.ts';
import { RedoWriter } from '../storage/threads/redo-writer.ts';
import { assembleParts, type ShardedOptions, type ShardedParts } from './assemble-sharded.ts';
import { assertCatalogKnows, recoverSharded } from './recover-sharded.ts';

interface FileOptions extends ShardedOptions {
  ports: InstancePorts;
  /** The epoch of the last opening that the catalog knows of. */
  epochKnown: Epoch;
}

/** Opens or recovers the instance's file. Throws the storage errors, `COMMITS_MISSING`. */
export async function openSharded(options: FileOptions): Promise<ShardedParts> {
  const path = instanceFilePath(options.dir, options.instance);
  const { emulatedSync, logBytesMax, epochKnown, ports } = options;
  const { writer, recovered } = await RedoWriter.start(
    { path, emulatedSync, logBytesMax, epochKnown },
    ports,
  );
  let parts: ShardedParts | undefined;
  try {
    assertCatalogKnows(options, recovered);
    parts = assembleParts(options, { writer, reader: new ReaderThread(path), recovered });
    writer.attach(parts.groupCommit);
    recoverSharded(parts, options, recovered);
    return parts;
  } catch (error) {
    // Nothing more may be written, in particular no orderly end. The timers and the reader are those of the parts.
    parts?.groupCommit.fail(stopReason(error));
    if (parts === undefined) await writer.close();
    else await parts.close().catch(() => writer.close());
    throw error;
  }
}
