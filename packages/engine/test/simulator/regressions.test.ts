/** Bugs that the simulator found, each with the seed at which it did. */
import { expect, it } from 'vitest';
import { QueueError } from '../../src/api/errors.ts';
import { Chance, Scheduler } from './scheduler.ts';
import { SimulatedInstance } from './simulated-instance.ts';
import { SimulatedNetwork } from './simulated-interconnect.ts';

// A batch whose sync failed was in the file all the same. The sender was told that it never arrived, and kept its messages.
it('tells a sender nothing of what it received once storage has failed (seed 188)', async () => {
  const scheduler = new Scheduler();
  const chance = new Chance(188);
  const instance = new SimulatedInstance({
    instance: 2,
    instances: [1, 2],
    scheduler,
    chance,
    network: new SimulatedNetwork(scheduler, chance, () => {}),
    queues: [],
    cacheBytesMax: 1_000,
    partitionMessagesMax: 10,
    consumerIdleMs: 100,
  });
  instance.open();
  const { forwarding, groupCommit } = instance.opening!.parts;
  const sender = { instance: 1, epoch: 1, connectionNumber: 1 };
  const report = () => forwarding.reportReceived(sender, { queueId: 1, shard: 100 }, false);

  expect(await report()).toMatchObject({ batchNumber: 0 });
  groupCommit.fail(new QueueError('STORAGE_FAILED'));
  await expect(report()).rejects.toMatchObject({ code: 'INSTANCE_FAILED' });
});
