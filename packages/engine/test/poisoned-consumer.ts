/** Takes a message, reports it, and crashes on a poisoned one: forked by retries.test.ts. */
import { openInstance } from '../src/index.ts';

const instance = await openInstance({ dir: process.argv[2]! });
const session = instance.openSession();
const [message] = await session.dequeue('orders', { waitMs: 30_000 });
const payload = message!.payload.toString();
process.send!({ payload, deliveryCount: message!.deliveryCount }, () => {
  if (payload !== 'fine') process.kill(process.pid, 'SIGKILL');
  else void session.commit().then(() => process.exit(0));
});
