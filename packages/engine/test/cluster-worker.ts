/** One of several processes of a cluster: works on the unsharded queue `q` at once with the others, then says what it took. */
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
