/** Servers for a test file, which are stopped at its end. Without a server program the tests are skipped with the reason. */
import { afterAll, beforeAll, describe, type SuiteFactory } from 'vitest';
import { openJetStream } from '../src/index.ts';
import type { JetStreamOptions, JetStreamStore } from '../src/open-jetstream.ts';
import { findServer, NatsCluster, type NatsClusterOptions } from '../src/servers/index.ts';

const found = findServer();

export interface TestServers {
  cluster: NatsCluster;
  /** Opens a store, which the caller closes. */
  open(options?: Partial<JetStreamOptions>): Promise<JetStreamStore>;
}

/** A suite with running servers. `servers` can be read only inside of tests. */
export function describeOnServers(
  title: string,
  options: Pick<NatsClusterOptions, 'servers' | 'sync' | 'configuration'>,
  suite: (servers: TestServers) => void,
): void {
  if ('missing' in found) {
    describe.skip(`${title} (${found.missing})`, suite as unknown as SuiteFactory);
    return;
  }
  describe(title, () => {
    const servers: TestServers = {
      cluster: undefined as unknown as NatsCluster,
      open: (more) => openJetStream({ servers: [...servers.cluster.urls], ...more }),
    };
    beforeAll(async () => {
      servers.cluster = await NatsCluster.start({ program: found.program, ...options });
    });
    afterAll(() => servers.cluster?.stop());
    suite(servers);
  });
}
