/** A process that serves an instance, for tests that kill it. Tells its parent once clients can connect. */
import { openInstance, type QueueKind, serveInstance } from '../../src/index.ts';

const [dir, kind] = process.argv.slice(2) as [string, QueueKind];
const instance = await openInstance({ dir, partitionMessagesMax: 64 });
if (instance.queues().length === 0)
  await instance.createQueue({ name: 'q', kind, shards: 2, attemptsMax: null });
await serveInstance(instance);
process.send?.('serving');
