/** Moves messages from `in` to `out` by a session that prefetches, and reports each commit, until it is killed. */
import { connect } from '../../src/index.ts';

const client = await connect({ path: process.argv[2]! });
const session = client.openSession({ prefetch: 100 });
for (;;) {
  const messages = await session.dequeue('in', { max: 7, waitMs: 1_000 });
  for (const { payload } of messages) session.enqueue('out', { payload });
  await session.commit();
  process.send!('committed');
}
