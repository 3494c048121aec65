/** The process that a soak test observes: hosts the instance and its load. */
import { openInstance } from '@shardlab/engine';
import { SoakLoad } from './load.ts';
import type { SoakConfig, SoakOrder, SoakReply } from './protocol.ts';

const memoryEveryMs = 500;

const config = JSON.parse(process.argv[2]!) as SoakConfig;
const sendReply = (reply: SoakReply) => void process.send!(reply);

const instance = await openInstance({ dir: config.dir });
const load = await SoakLoad.start(instance, config);

async function steady({ perSec, ms, windowMs }: Extract<SoakOrder, { do: 'steady' }>): Promise<void> {
  load.takeWindow(0); // discards what the saturation phase left
  const from = { at: performance.now(), sent: load.sent, consumed: load.consumed };
  const elapsed = () => performance.now() - from.at;
  const memory = setInterval(
    () => sendReply({ type: 'memory', atMs: elapsed(), bytes: process.memoryUsage.rss() }),
    memoryEveryMs,
  );
  const windows = setInterval(
    () => sendReply({ type: 'window', window: load.takeWindow(elapsed()) }),
    windowMs,
  );
  await load.runSteady(perSec, ms);
  const { backlog } = load;
  clearInterval(memory);
  clearInterval(windows);
  const [sent, consumed] = [load.sent - from.sent, load.consumed - from.consumed];
  sendReply({ type: 'steady', sent, consumed, ms: elapsed(), backlog });
}

async function executeOrder(order: SoakOrder): Promise<void> {
  if (order.do === 'saturate') sendReply({ type: 'saturated', perSec: await load.runSaturated(order.ms) });
  else if (order.do === 'steady') await steady(order);
  else {
    await load.waitUntilDrained();
    sendReply({ type: 'ended', integrity: await load.end() });
    await instance.close();
    process.disconnect!();
  }
}

process.on('message', (order: SoakOrder) => void executeOrder(order));
sendReply({ type: 'ready' });
