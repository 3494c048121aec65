/**
 * A process that its test kills. As a participant it serves an instance. As the coordinator it moves tokens between the instances, each
 * time with one more hop, which a row on the first instance counts too, and reports each transfer whose commit was acknowledged. Every
 * other transfer is tightly coupled, so that its token is shipped back to the instance from which it comes.
 */
import { connect, openInstance, QueueError, type Session, serveInstance } from '../../src/index.ts';

const [dir, role] = process.argv.slice(2) as [string, 'one' | 'two' | 'coordinator'];
const numbers = { one: 1, two: 2, coordinator: 3 };
const instance = await openInstance({ dir, instance: numbers[role], partitionMessagesMax: 16 });
if (role !== 'coordinator') {
  await serveInstance(instance);
  process.send!('serving');
} else await coordinate();

async function coordinate(): Promise<void> {
  const reach = (number: number) => connect({ path: `${dir}/instance-${number}.sock`, connectMs: 10_000 });
  const clients = { one: await reach(1), two: await reach(2) };
  const coordinator = instance.coordinator({ one: clients.one.xa, two: clients.two.xa });
  await coordinator.resolve();
  process.send!('serving');
  let transfers = 0;
  await Promise.all([move('one', 'two'), move('two', 'one'), move('one', 'two'), move('two', 'one')]);

  async function move(from: keyof typeof clients, to: keyof typeof clients): Promise<never> {
    for (;;) {
      const [consumer, producer] = [clients[from].openSession(), clients[to].openSession()];
      try {
        const hop = await transfer(consumer, producer, from, to);
        if (hop !== undefined) process.send!(hop);
      } catch (error) {
        if (!(error instanceof QueueError)) throw error; // Other errors occur when a participant is killed.
      }
      await Promise.allSettled([consumer.close(), producer.close()]);
    }
  }

  /** Resolves with the token and its hops, or undefined if there was nothing to move. */
  async function transfer(
    consumer: Session,
    producer: Session,
    from: string,
    to: string,
  ): Promise<string | undefined> {
    transfers += 1;
    const tight = { coupling: 'tight', lockWaitMs: 1_000 } as const;
    const transaction = coordinator.begin({ timeoutMs: 2_000, ...(transfers % 2 === 0 && tight) });
    try {
      await transaction.enlist(from, consumer);
      await transaction.enlist(to, producer);
      const [message] = await consumer.dequeue('tokens', { waitMs: 100 });
      if (message === undefined) {
        await transaction.rollback();
        return undefined;
      }
      const [token, hops] = message.payload.toString().split(' ');
      const hop = `${token} ${Number(hops) + 1}`;
      producer.enqueue('tokens', { payload: hop });
      const atFirst = from === 'one' ? consumer : producer;
      atFirst.execute('UPDATE token SET hops = hops + 1 WHERE name = ?', [token!]);
      await transaction.commit();
      return hop;
    } catch (error) {
      await transaction.rollback().catch(() => undefined); // The transaction has already ended, unless its work failed.
      throw error;
    }
  }
}
