/** One of several processes that use the unsharded queue `q` at the same time. It reports to its parent what it consumed. */
import { openInstance } from '../src/index.ts';

const [dir, instanceText, countText] = process.argv.slice(2) as [string, string, string];
const instance = await openInstance({ dir, instance: Number(instanceText) });
process.once('message', async () => {
  const session = instance.openSession();
  const taken: string[] = [];
  for (let i = 0; i < Number(countText); i += 1) {
    session.enqueue('q', { payload: `${instanceText}.${i}` });
    await session.commit();
    for (const message of await session.dequeue('q')) taken.push(message.payload.toString());
    await session.commit();
  }
  await instance.close();
  process.send!(taken, () => process.disconnect!());
});
process.send?.('ready');
