/** The process that a soak watches: hosts the instance and its load. */
import { openInstance } from '@shardlab/engine';
import { SoakLoad } from './load.ts';
import type { SoakConfig, SoakOrder, SoakReply } from './protocol.ts';

const memoryEveryMs = 500;

const config = JSON.parse(process.argv[2]!) as SoakConfig;
const tell = (reply: SoakReply) => void process.send!(reply);

const instance = await openInstance({ dir: config.dir });
const load = await SoakLoad.start(instance, config);

async function steady({ perSec, ms, windowMs }: Extract<SoakOrder, { do: 'steady' }>): Promise<void> {
  load.takeWindow(0); // what the saturation left
  const from = { at: performance.now(), sent: load.sent, consumed: load.consumed };
  const elapsed = () => performance.now() - from.at;
  const memory = setInterval(
    () => tell({ type: 'memory', atMs: elapsed(), bytes: process.memoryUsage.rss() }),
    memoryEveryMs,
  );
  const windows = setInterval(() => tell({ type: 'window', window: load.takeWindow(elapsed()) }), windowMs);
  await load.steady(perSec, ms);
  const { backlog } = load;
  clearInterval(memory);
  clearInterval(windows);
  const [sent, consumed] = [load.sent - from.sent, load.consumed - from.consumed];
  tell({ type: 'steady', sent, consumed, ms: elapsed(), backlog });
}

async function obey(order: SoakOrder): Promise<void> {
  if (order.do === 'saturate') tell({ type: 'saturated', perSec: await load.saturate(order.ms) });
  else if (order.do === 'steady') await steady(order);
  else {
    await load.drained();
    tell({ type: 'ended', integrity: await load.end() });
    await instance.close();
    process.disconnect!();
  }
}

process.on('message', (order: SoakOrder) => void obey(order));
tell({ type: 'ready' });
