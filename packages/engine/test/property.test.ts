/** Random commands of three sessions against the engine and against a model of a queue (`queue-model.ts`). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connect, type Instance, openInstance, type QueueKind, serveInstance } from '../src/index.ts';
import { makeFolder } from './folder.ts';
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
} from './queue-model.ts';
import { isTorture } from './random.ts';

class RealEngine implements Real {
  readonly promises = { orderAfterReturn: true, exactCounts: true };
  readonly #dir: string;
  readonly #isRemote: boolean;
  instance!: Instance;
  client!: Real['client'];
  sessions!: Real['sessions'];
  /** Ends the client, then closes the instance. */
  close!: () => Promise<void>;

  constructor(dir: string, placement: Placement) {
    this.#dir = dir;
    this.#isRemote = placement !== 'embedded';
  }

  async open(): Promise<void> {
    const options = { dir: this.#dir, partitionMessagesMax: 5 };
    const instance = await openInstance(options);
    this.instance = instance;
    this.client = instance;
    this.close = () => instance.close();
    if (this.#isRemote) {
      const served = await serveInstance(instance);
      const client = await connect({ path: served.path });
      this.client = client;
      this.close = async () => {
        await client.close();
        await served.close();
        await instance.close();
      };
    }
    this.sessions = sessionNumbers.map(() => this.client.openSession());
  }
}

/** Number of runs, one of which is the fixed sequence. `npm run torture` has more. */
const runsInGate = { many: 4, few: 2 };
const runsInTorture = { many: 60, few: 16 };

type Placement = 'embedded' | 'remote';

describe.each<[QueueKind, Placement]>([
  ['sharded', 'embedded'],
  ['unsharded', 'embedded'],
  ['sharded', 'remote'],
  ['unsharded', 'remote'],
  ['unsharded-grouped', 'embedded'],
  ['unsharded-grouped', 'remote'],
])('a %s queue under random commands of %s sessions', (kind, placement) => {
  it('agrees with a model of it, across reopening', { timeout: 300_000 }, async () => {
    const dir = makeFolder();
    const runs = isTorture ? runsInTorture : runsInGate;
    reached.clear();
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.commands(withReopen, { maxCommands: 80, size: 'max' }), async (run) => {
        round += 1;
        const real = new RealEngine(`${dir}/${round}`, placement);
        await real.open();
        try {
          await real.instance.createQueue({ name: queue, kind, shards: 2, attemptsMax: null });
          await fc.asyncModelRun(() => ({ model: new Model(), real }), [...run, ...atTheEnd]);
        } finally {
          await real.close();
        }
      }),
      {
        numRuns: placement !== 'embedded' || kind === 'unsharded-grouped' ? runs.few : runs.many,
        examples: [[walk]],
        // A failing or hanging run is shrunk and reported before the time limit of the test.
        interruptAfterTimeLimit: 240_000,
        timeout: 90_000,
      },
    );
    expect(
      cases.filter((of) => !reached.has(of)),
      'cases that no run met',
    ).toEqual([]);
  });
});
