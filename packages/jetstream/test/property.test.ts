/** The random commands of the engine's property test, against queues on real servers. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  atTheEnd,
  cases,
  Model,
  queue,
  type Real,
  reached,
  sessionNumbers,
  walk,
  withReopen,
} from '../../engine/test/queue-model.ts';
import { isTorture } from '../../engine/test/random.ts';
import type { JetStreamStore } from '../src/index.ts';
import { describeOnServers, type TestServers } from './servers.ts';

class RealStore implements Real {
  readonly promises = { orderAfterReturn: false, exactCounts: false };
  readonly #servers: TestServers;
  store!: JetStreamStore;
  sessions!: Real['sessions'];

  constructor(servers: TestServers) {
    this.#servers = servers;
  }

  get client(): JetStreamStore {
    return this.store;
  }

  async open(): Promise<void> {
    this.store = await this.#servers.open({ transactions: 'enqueue-first' });
    this.sessions = sessionNumbers.map(() => this.store.openSession());
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

for (const [count, runs] of [
  [1, isTorture ? 60 : 8],
  [3, isTorture ? 60 : 4],
] as const) {
  describeOnServers(`a queue on ${count} servers under random commands`, { servers: count }, (servers) => {
    it('agrees with a model of it, across reopening', { timeout: 300_000 }, async () => {
      reached.clear();
      await fc.assert(
        fc.asyncProperty(fc.commands(withReopen, { maxCommands: 80, size: 'max' }), async (run) => {
          const real = new RealStore(servers);
          await real.open();
          try {
            await real.store.createQueue({ name: queue, shards: 2, replicas: count, attemptsMax: null });
            await fc.asyncModelRun(() => ({ model: new Model(), real }), [...run, ...atTheEnd]);
          } finally {
            await real.store.dropQueue(queue).catch(() => undefined); // An earlier failure is the one to report.
            await real.close();
          }
        }),
        { numRuns: runs, examples: [[walk]] },
      );
      expect(
        cases.filter((of) => !reached.has(of)),
        'cases that no run met',
      ).toEqual([]);
    });
  });
}
