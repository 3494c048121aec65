/** Forked by retries.test.ts: returns each message that it gets, and reports its count once the return has resolved. */
import { openInstance } from '../src/index.ts';

const instance = await openInstance({ dir: process.argv[2]! });
const session = instance.openSession();
for (;;) {
  const [message] = await session.dequeue('orders', { waitMs: 30_000 });
  await session.rollback({ error: new Error('it fails'), delayMs: 0 });
  process.send!({ payload: message!.payload.toString(), deliveryCount: message!.deliveryCount });
}
