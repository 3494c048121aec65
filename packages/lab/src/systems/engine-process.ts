/**
 * One served instance: `node engine-process.ts <folder> <instance> <socket> <options>`, stopped by SIGTERM. Without a socket (an empty
 * text) it listens where the other instances of its folder look for it; the options are those of the instance, in JSON.
 */
import { type InstanceOptions, openInstance, serveInstance } from '@shardlab/engine';

const [dir, instance, path, given = '{}'] = process.argv.slice(2) as [string, string, string, string?];
const options = JSON.parse(given) as Partial<InstanceOptions>;
const opened = await openInstance({ ...options, dir, instance: Number(instance) });
const served = await serveInstance(opened, path === '' ? {} : { path });
process.once('SIGTERM', async () => {
  await served.close();
  await opened.close();
});
