/** Moves a queue and kills itself at a given point, or at none: `move-process.ts <folder> <url> <queue> <step, page or none>`. */
import { openInstance } from '@shardlab/engine';
import { moveToJetStream } from '../src/index.ts';

const [dir, url, queue, killAt] = process.argv.slice(2) as [string, string, string, string];
const die = () => process.kill(process.pid, 'SIGKILL');
const instance = await openInstance({ dir });
let pages = 0;
let isCopying = false;
await moveToJetStream({
  servers: url,
  queue,
  local: {
    queue: (name) => instance.queue(name),
    stopQueue: (name) => instance.stopQueue(name),
    dropQueue: (name) => instance.dropQueue(name),
    browse: (name, options) => {
      pages += isCopying ? 1 : 0;
      if (killAt === 'page' && pages === 3) die();
      return instance.browse(name, options);
    },
  },
  onStep: (step) => {
    isCopying = step === 'copy';
    if (step === killAt) die();
  },
});
await instance.close();
