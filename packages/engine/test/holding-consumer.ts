/** Forked by redelivered.test.ts: takes two messages in a transaction and one under a timed hold, reports them and waits to be killed. */
import { openInstance } from '../src/index.ts';

const [dir = '', queue = '', subscriber] = process.argv.slice(2);
const instance = await openInstance({ dir });
const session = instance.openSession();
const from = subscriber === undefined ? {} : { subscriber };
const dequeued = await session.dequeue(queue, { max: 2, waitMs: 30_000, ...from });
const received = await session.receive(queue, { max: 1, waitMs: 30_000, holdMs: 3_600_000, ...from });
process.send!(
  [...dequeued, ...received].map(({ payload, deliveryCount }) => `${payload.toString()} ${deliveryCount}`),
);
setInterval(() => {}, 1_000);
