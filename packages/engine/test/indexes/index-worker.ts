/** Fills and drains a queue with an index and one without, which reuse each other's partitions. Reports each commit to its parent. */
import { openInstance } from '../../src/index.ts';
import { marked } from './marked.ts';

const instance = await openInstance({ dir: process.argv[2]!, partitionMessagesMax: 4 });
if (instance.queues().length === 0) {
  await instance.createQueue({ name: 'indexed', correlationIndex: true });
  await instance.createQueue({ name: 'plain' });
}
const session = instance.openSession();
for (let first = 0; ; first += 3) {
  const queue = Math.floor(first / 30) % 2 === 0 ? 'indexed' : 'plain';
  for (const message of marked(first, first + 3, 4)) session.enqueue(queue, message);
  if (first % 2 === 0) await session.dequeue(queue, { max: 6 });
  await session.commit();
  process.send!(first);
}
