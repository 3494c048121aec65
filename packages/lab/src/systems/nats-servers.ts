/** NATS servers with JetStream on loopback ports, because they do not support Unix sockets: one, or a cluster of three. */
import { findServer, installCommand, NatsCluster } from '@shardlab/jetstream/servers';
import type { ServerKind } from './driver/server.ts';

export const natsSynced = 'sync always';
export const natsUnsynced = 'sync every 2 min';

export const natsServers = (servers: 1 | 3): ServerKind => ({
  aptPackage: null,
  install: `nats-server 2.12 or later; ${installCommand}`,
  version() {
    const found = findServer();
    return 'missing' in found ? null : found.version;
  },
  async start({ dir, durability }) {
    const found = findServer();
    if ('missing' in found) throw new Error(found.missing);
    const sync = durability === natsSynced ? 'always' : 'interval';
    const cluster = await NatsCluster.start({ program: found.program, servers, sync, dir });
    return { endpoints: [...cluster.urls], pids: cluster.pids, stop: () => cluster.stop() };
  },
});
