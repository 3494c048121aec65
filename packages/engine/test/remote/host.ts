/** A process that serves an instance, for tests that kill it. Tells its parent once clients can connect. */
import { openInstance, type QueueKind, serveInstance } from '../../src/index.ts';
import { ChangingPlacement } from '../support/changing-placement.ts';
import { openWithPlacement } from '../support/open-with-placement.ts';

const [dir, kind, writer] = process.argv.slice(2) as [string, QueueKind, 'changing writer' | undefined];
const options = { dir, partitionMessagesMax: 64 };
// The number of groups on one thread before each change: one, one, two, one, one, two …
let group = 0;
const changing = new ChangingPlacement(() => {
  group += 1;
  return group % 4 !== 3;
});
const instance =
  writer === undefined ? await openInstance(options) : await openWithPlacement(options, changing);
if (instance.queues().length === 0)
  await instance.createQueue({ name: 'q', kind, shards: 2, attemptsMax: null });
await serveInstance(instance);
process.send?.('serving');
