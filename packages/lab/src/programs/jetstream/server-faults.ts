/** How servers of a cluster are made faulty in a trial. */
import { setTimeout as pause } from 'node:timers/promises';
import type { NatsCluster } from '@shardlab/jetstream/servers';
import type { FailoverJob, Fault, PowerCut } from './failover-job.ts';
import { isPowerCut } from './failover-job.ts';

export const serverCount = 3;
export const healthyMsMax = 60_000;
/** Number of acknowledged enqueues that proves that servers serve again: more than could have been in flight before. */
const servedMessages = 100;
const servedMsMax = 30_000;
const servers = Array.from({ length: serverCount }, (_, server) => server);

/** Resolves when all servers are healthy again after the last fault. `acknowledged`: enqueues so far. */
export async function makeFaults(
  cluster: NatsCluster,
  { fault, faultMs }: FailoverJob,
  acknowledged: () => number,
): Promise<void> {
  if (isPowerCut(fault)) {
    // Writes back what exists so far, so that a power cut does not lose the queue itself.
    cluster.writeBack();
    await powerCuts[fault](cluster, faultMs, acknowledged);
    await untilHealthy(cluster);
    return;
  }
  for (const server of servers) {
    await begin[fault](cluster, server);
    await pause(faultMs);
    await end[fault](cluster, server);
    await untilHealthy(cluster);
  }
}

type Act = (cluster: NatsCluster, server: number) => Promise<void> | void;
type Failure = Exclude<Fault, PowerCut>;

const begin: Readonly<Record<Failure, Act>> = {
  none: () => {},
  kill: (cluster, server) => cluster.kill(server),
  pause: (cluster, server) => cluster.pause(server),
  partition: (cluster, server) => cluster.partition(server),
};

const end: Readonly<Record<Failure, Act>> = {
  none: () => {},
  kill: (cluster, server) => cluster.restart(server),
  pause: (cluster, server) => cluster.resume(server),
  partition: (cluster) => cluster.heal(),
};

type CutPower = (cluster: NatsCluster, partMs: number, acknowledged: () => number) => Promise<void>;

const powerCuts: Readonly<Record<PowerCut, CutPower>> = {
  async 'power-cut-all'(cluster, partMs) {
    await pause(partMs);
    await Promise.all(servers.map((server) => cluster.cutPower(server)));
    await Promise.all(servers.map((server) => cluster.restart(server)));
  },

  /**
   * The first server is cut off, so that the others have what is acknowledged. Then the second loses power, and the third is cut
   * off instead of the first: the first and the second continue with the messages that they have, and the third joins once they
   * serve.
   */
  async 'power-cut-one'(cluster, partMs, acknowledged) {
    const [behind, unpowered, ahead] = servers as [number, number, number];
    cluster.partition(behind);
    await pause(partMs);
    await servedAgain(acknowledged);
    cluster.partition(ahead);
    await cluster.cutPower(unpowered);
    cluster.heal(behind);
    await cluster.restart(unpowered);
    await servedAgain(acknowledged);
    cluster.heal();
  },
};

/**
 * Resolves when `servedMessages` further enqueues are acknowledged, or after `servedMsMax`: then the two servers may never serve
 * again.
 */
async function servedAgain(acknowledged: () => number): Promise<void> {
  const until = performance.now() + servedMsMax;
  const wanted = acknowledged() + servedMessages;
  while (acknowledged() < wanted && performance.now() < until) await pause(50);
}

async function untilHealthy(cluster: NatsCluster): Promise<void> {
  const until = performance.now() + healthyMsMax;
  for (const server of servers) {
    while (!(await cluster.isHealthy(server))) {
      if (performance.now() > until) throw new Error(`server ${server + 1} is not healthy after a minute`);
      await pause(100);
    }
  }
}
