/** A process of a cluster that uses one queue after the other. When told to end it reports what it enqueued and consumed. */
import { openInstance } from '../../src/index.ts';
import { QueueLoad } from './queue-load.ts';

const [dir = '', instanceText] = process.argv.slice(2);
const instance = await openInstance({ dir, instance: Number(instanceText) });
let load: QueueLoad | undefined;
let record = { put: [] as string[], took: [] as string[] };

type Order = { do: 'load'; queue: string } | { do: 'end producers' } | { do: 'end' } | { do: 'close' };

async function obey(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'load': {
      const lists = { put: [] as string[], took: [] as string[] };
      record = lists;
      load = new QueueLoad({
        instance,
        queue: order.queue,
        name: `${order.queue}.${instanceText}`,
        note: (what, payload) => what !== 'taking' && lists[what].push(payload),
      });
      return null;
    }
    case 'end producers':
      return load!.endProducers();
    case 'end':
      await load!.end();
      return record;
    case 'close':
      await instance.close();
      return null;
  }
}

process.on('message', async (order: Order) => {
  process.send!((await obey(order)) ?? 'done');
  if (order.do === 'close') process.disconnect!();
});
process.send!('ready');
