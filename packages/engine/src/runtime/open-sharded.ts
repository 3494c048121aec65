/** Opens the sharded queues of an instance over its file. */

import { stopReason } from '../commit/instance-failure.ts';
import type { InstancePorts } from '../model/ports.ts';
import { instanceFilePath } from '../storage/instance-file/instance-file.ts';
import { AdaptiveWriter } from '../storage/threads/adaptive-writer.ts';
import type { CommitPlacement } from '../storage/threads/commit-place.ts';
import { ReaderThread } from '../storage/threads/reader-thread-client.ts';
import { SessionThreadWriter } from '../storage/threads/session-thread-writer.ts';
import { WriterThread } from '../storage/threads/writer-thread-client.ts';
import { assembleParts, type ShardedOptions, type ShardedParts } from './assemble-sharded.ts';
import { assertCatalogKnows, recoverSharded } from './recover-sharded.ts';

interface FileOptions extends ShardedOptions {
  ports: InstancePorts;
  /** Decides where groups are committed; undefined: never on this thread. */
  placement: CommitPlacement | undefined;
}

/** Opens or recovers the instance's file. Throws the storage errors, `COMMITS_MISSING`. */
export async function openSharded(options: FileOptions): Promise<ShardedParts> {
  const path = instanceFilePath(options.dir, options.instance);
  const { emulatedSync, logBytesMax, ports } = options;
  const ofFile = { path, emulatedSync, logBytesMax };
  const { writer: thread, recovered } = await WriterThread.start(ofFile, ports);
  const { placement, waits } = options;
  const writer =
    placement === undefined
      ? thread
      : new AdaptiveWriter({
          thread,
          sessionThread: new SessionThreadWriter({ ...ofFile, epoch: recovered.epoch, ...ports }),
          placement,
          waits,
        });
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
