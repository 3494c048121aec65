/** One served instance: `node engine-process.ts <folder> <instance> <socket>`, stopped by SIGTERM. */
import { openInstance, serveInstance } from '@shardlab/engine';

const [dir, instance, path] = process.argv.slice(2) as [string, string, string];
const opened = await openInstance({ dir, instance: Number(instance) });
const served = await serveInstance(opened, { path });
process.once('SIGTERM', async () => {
  await served.close();
  await opened.close();
});
