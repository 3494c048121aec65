/** Bugs that the simulator found, each with the seed at which it did. */
import { expect, it } from 'vitest';
import { QueueError } from '../../src/api/errors.ts';
import type { GroupCommit } from '../../src/commit/group-commit.ts';
import type { Peer } from '../../src/forwarding/interconnect.ts';
import { OutboundForwarding, type OutboundForwardingHost } from '../../src/forwarding/outbound-forwarding.ts';
import { Chance, Scheduler } from './scheduler.ts';
import { SimulatedInstance } from './simulated-instance.ts';
import { SimulatedNetwork } from './simulated-interconnect.ts';

// The bug: a batch whose sync failed was in the file nevertheless, but its sender was told that it had not arrived, and kept its messages.
it('an instance gives no more reports to senders once its storage has failed (seed 188)', async () => {
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

// The bug: the commit that closes a forwarding failed with its sync but was in the file nevertheless. In memory the forwarding was
// still open, so the next batch was sent without a commit. After a crash the receiver was not asked, and both delivered the messages.
it('an instance sends no batch once its storage has failed (seed 804)', async () => {
  const group: { failure: QueueError | undefined; write(): Promise<void> } = {
    failure: undefined,
    write: async () => {},
  };
  const outbound = new OutboundForwarding({
    shardKey: { queueId: 1, shard: 100 },
    group: group as unknown as GroupCommit,
    sync: 'FULL',
    rows: [],
    returnsToOwner: false,
    host: { onChange: () => {} } as OutboundForwardingHost,
  });
  const receiver = { instance: 2 } as Peer;

  expect(await outbound.forwardBatch(receiver, 10)).toBe('nothingReady');
  expect(outbound.state).toBe('open');
  group.failure = new QueueError('STORAGE_FAILED');
  await expect(outbound.forwardBatch(receiver, 10)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
});
