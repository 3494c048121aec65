/** The random commands of the engine's topics, against topics on real servers. */
import fc from 'fast-check';
import { it } from 'vitest';
import { isTorture } from '../../engine/test/random.ts';
import { example, RealTopic, runAgainstModel, sequences, topic } from '../../engine/test/topic-model.ts';
import type { JetStreamStore } from '../src/index.ts';
import { describeOnServers, type TestServers } from './servers.ts';

class ServersTopic extends RealTopic {
  readonly promises = {
    orderAfterReturn: false,
    exactCounts: false,
    recipientsAtCommit: true,
    ownBacklog: false,
  };
  readonly #servers: TestServers;
  client!: JetStreamStore;

  constructor(servers: TestServers) {
    super();
    this.#servers = servers;
  }

  async open(): Promise<void> {
    this.client = await this.#servers.open();
    this.openSessions();
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

for (const [count, numRuns] of [
  [1, isTorture ? 40 : 6],
  [3, isTorture ? 40 : 3],
] as const) {
  describeOnServers(`a topic on ${count} servers under random commands`, { servers: count }, (servers) => {
    it('agrees with a model of it, across reopening', { timeout: 300_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(sequences, async (sequence) => {
          const real = new ServersTopic(servers);
          await real.open();
          try {
            await real.client.createQueue({
              name: topic,
              type: 'topic',
              shards: 2,
              replicas: count,
              attemptsMax: null,
            });
            await runAgainstModel(real, sequence);
          } finally {
            await real.client.dropQueue(topic).catch(() => undefined); // An earlier failure is the one to report.
            await real.close();
          }
        }),
        { numRuns, examples: [[example]] },
      );
    });
  });
}
