/** Random commands of publishers and subscribers against topics of the engine and against a model of one (`topic-model.ts`). */
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { type Instance, openInstance, type QueueKind } from '../src/index.ts';
import { makeFolder } from './folder.ts';
import { isTorture } from './random.ts';
import { example, RealTopic, runAgainstModel, sequences, topic } from './topic-model.ts';

class EngineTopic extends RealTopic {
  readonly promises;
  readonly #dir = makeFolder();
  client!: Instance;

  constructor(kind: QueueKind) {
    super();
    this.promises = {
      orderAfterReturn: true,
      exactCounts: true,
      recipientsAtCommit: false,
      ownBacklog: kind !== 'sharded',
    };
  }

  async open(): Promise<void> {
    // Partitions and cache are small, so that truncations and bulk reads are frequent.
    this.client = await openInstance({ dir: this.#dir, partitionMessagesMax: 4, cacheBytesMax: 400 });
    this.openSessions();
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

describe.each<[QueueKind, number]>([
  ['sharded', isTorture ? 40 : 5],
  ['unsharded', isTorture ? 20 : 3],
  ['unsharded-grouped', isTorture ? 10 : 2],
])('a topic of kind %s under random commands', (kind, numRuns) => {
  it('agrees with a model of it, across reopening', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(sequences, async (sequence) => {
        const real = new EngineTopic(kind);
        await real.open();
        try {
          await real.client.createQueue({ name: topic, kind, type: 'topic', shards: 2, attemptsMax: null });
          await runAgainstModel(real, sequence);
        } finally {
          await real.close();
        }
      }),
      {
        numRuns,
        examples: [[example]],
        interruptAfterTimeLimit: 60_000,
        markInterruptAsFailure: false,
      },
    );
  });
});
