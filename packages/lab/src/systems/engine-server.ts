/** Our own instances, each served by its own process over a Unix socket. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { accepts, readyServer, type ServerKind, type SpawnedServer, spawnServer } from './driver/server.ts';

const processFile = fileURLToPath(new URL('./engine-process.ts', import.meta.url));

export const engineServer: ServerKind = {
  aptPackage: null,
  version: () => 'ours',
  async start({ dir, socketDir, instances }) {
    const endpoints: string[] = [];
    const servers: SpawnedServer[] = [];
    for (let instance = 1; instance <= instances; instance += 1) {
      const endpoint = join(socketDir, `${instance}.sock`);
      const server = spawnServer(process.execPath, [processFile, dir, String(instance), endpoint]);
      endpoints.push(endpoint);
      servers.push(server);
      await server.untilReady(() => accepts(endpoint));
    }
    return readyServer(endpoints, servers);
  },
};
