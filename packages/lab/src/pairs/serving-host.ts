/** The process that serves the instance of a remote trial; started by `placement.ts`. */
import { join } from 'node:path';
import type * as Engine from '@shardlab/engine';

const [checkout, dir, kind] = process.argv.slice(2) as [string, string, Engine.QueueKind];
const engine = (await import(join(checkout, 'packages/engine/src/index.ts'))) as typeof Engine;
const instance = await engine.openInstance({ dir, sampleIntervalMs: 60_000 });
await instance.createQueue({ name: 'q', kind });
const served = await engine.serveInstance(instance);

process.on('message', (order: 'cpu' | 'close') => {
  if (order === 'cpu') process.send?.(process.cpuUsage());
  else
    void served
      .close()
      .then(() => instance.close())
      .then(() => process.disconnect?.());
});
process.send?.('serving');
