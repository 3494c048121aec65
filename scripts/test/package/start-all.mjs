/** A program that starts each thread and each process of the engine: `node start-all.mjs <folder>`. Prints what it read. */
import { setTimeout } from 'node:timers/promises';
import { checkFolder, connectCluster, openInstance, startCluster } from '@shardlab/engine';

const [dir = ''] = process.argv.slice(2);

async function main() {
  const instance = await openInstance({ dir, scrubIntervalMs: 100 });
  await instance.createQueue({ name: 'orders', correlationIndex: true });
  const session = instance.openSession();
  session.enqueue('orders', { payload: 'parcel', correlationId: 'c' }); // the writer thread
  await session.commit();
  const { messages } = await instance.browse('orders', { correlationId: 'c' }); // the reader thread
  session.execute('CREATE TABLE stock (pieces)'); // the writer process, and the thread that watches it
  session.execute('INSERT INTO stock VALUES (3)');
  await session.commit();
  while (instance.stats().scrub.completed === 0) await setTimeout(10); // the scrub thread
  await instance.close();
  const { faults } = checkFolder(dir); // the process that reads the headers of files
  const cluster = await startCluster({ dir, instances: 1 }); // the process of an instance
  const client = connectCluster({ dir });
  const remote = client.openSession();
  const [message] = await remote.dequeue('orders', { waitMs: 30_000 });
  await remote.commit();
  await client.close();
  await cluster.close();
  console.log(JSON.stringify({ browsed: messages.length, faults, payload: message?.payload.toString() }));
}

void main();
