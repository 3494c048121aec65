/** Forked by retries.test.ts and, for a topic, unsharded-retries.test.ts: takes messages, reports them, and crashes on a poisoned one. */
import { openInstance } from '../src/index.ts';

const [dir, queue = 'orders', subscriber] = process.argv.slice(2);
const instance = await openInstance({ dir: dir! });
const session = instance.openSession();
const [message] = await session.dequeue(queue, {
  waitMs: 30_000,
  ...(subscriber !== undefined && { subscriber }),
});
const payload = message!.payload.toString();
process.send!({ payload, deliveryCount: message!.deliveryCount }, () => {
  if (payload !== 'fine') process.kill(process.pid, 'SIGKILL');
  else void session.commit().then(() => process.exit(0));
});
