/** A receipt proves that its presenter was given the message: a guessed, incremented or altered one is refused. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QueueRow } from '../src/model/queue-row.ts';
import { receiptName } from '../src/model/receipt.ts';
import { type TimedHold, TimedHolds } from '../src/queues/timed-holds.ts';
import { openTestInstance, text } from './folder.ts';
import { ManualPorts } from './support/manual-ports.ts';

const stale = expect.objectContaining({ code: 'RECEIPT_STALE' });

describe.each(['sharded', 'unsharded', 'unsharded-grouped'] as const)(
  'the receipts of a %s queue',
  (kind) => {
    it('cannot be derived from other receipts: without the secret of its own hold a receipt is stale', async () => {
      const instance = await openTestInstance();
      await instance.createQueue({ name: 'q', kind });
      const producer = instance.openSession();
      for (const payload of ['a', 'b']) producer.enqueue('q', { payload });
      await producer.commit();
      const victim = instance.openSession();
      const [a, b] = (await victim.receive('q', { max: 2 })).map(({ receipt }) => receipt) as [
        string,
        string,
      ];
      const [nameOfA, nameOfB] = [receiptName(a), receiptName(b)];
      const attacker = instance.openSession();
      const guesses = [nameOfA, `${nameOfA}.`, b.replace(nameOfB, nameOfA), `${nameOfA}.${'A'.repeat(22)}`];
      for (const guess of guesses) {
        await expect(attacker.release('q', [guess])).rejects.toThrow(stale);
        await expect(attacker.extend('q', [guess], 1_000)).rejects.toThrow(stale);
        attacker.acknowledge('q', [guess]);
        await expect(attacker.commit()).rejects.toThrow(stale);
      }
      expect(instance.queue('q')).toMatchObject({ ready: 0, held: 2, consumed: 0 });
      victim.acknowledge('q', [a, b]);
      await victim.commit();
      expect(instance.queue('q')).toMatchObject({ held: 0, consumed: 2 });
    });

    it('end with their hold: a later one of the same message has another secret', async () => {
      const instance = await openTestInstance();
      await instance.createQueue({ name: 'q', kind });
      const session = instance.openSession();
      session.enqueue('q', { payload: 'a' });
      await session.commit();
      const [first] = await session.receive('q');
      await session.release('q', [first!.receipt]);
      const [second] = await session.receive('q', { waitMs: 30_000 });
      expect(second!.receipt.slice(-22)).not.toBe(first!.receipt.slice(-22));
      await expect(session.release('q', [first!.receipt])).rejects.toThrow(stale);
      await session.release('q', [second!.receipt]);
    });

    it('are not given for messages that a transaction consumes', async () => {
      const instance = await openTestInstance();
      await instance.createQueue({ name: 'q', kind });
      const session = instance.openSession();
      session.enqueue('q', { payload: 'a' });
      await session.commit();
      const [message] = await session.dequeue('q');
      expect([...text([message!]), message!.receipt]).toEqual(['a', '']);
      await session.commit();
    });
  },
);

const queue = { queueId: 1, name: 'orders' } as QueueRow;

function holdsOf(names: readonly string[], seed = 1) {
  const holds = new TimedHolds<string>({
    ports: new ManualPorts({ seed }),
    onExpired: () => expect.unreachable(),
    onInvariantBroken: () => expect.unreachable(),
  });
  return { holds, receipts: names.map((name) => holds.add({ queue, delivery: name, name }, 1_000)) };
}

describe('a receipt', () => {
  it('is the name of its delivery and 132 bits from the random port', () => {
    const [first, second] = holdsOf(['100.1.1.1', '100.1.1.2']).receipts as [string, string];
    expect(first).toMatch(/^100\.1\.1\.1\.[\w-]{22}$/);
    expect(Buffer.from(first.slice(-22), 'base64url')).toHaveLength(16);
    expect(second.slice(-22)).not.toBe(first.slice(-22));
    expect(holdsOf(['100.1.1.1'], 1).receipts).toEqual([first]);
    expect(holdsOf(['100.1.1.1'], 2).receipts).not.toEqual([first]);
  });

  it('is refused if any character of it is altered', () => {
    const { holds, receipts } = holdsOf(['100.1.1.1', '100.2.1.2']);
    const find = (receipt: string): TimedHold<string>[] => holds.find(queue, [receipt]);
    for (const receipt of receipts) expect(find(receipt)).toHaveLength(1);
    const altered = fc
      .record({
        receipt: fc.constantFrom(...receipts),
        at: fc.nat(40),
        remove: fc.nat(3),
        insert: fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom(...receipts, 'A', '.', '')),
      })
      .map(({ receipt, at, remove, insert }) => receipt.slice(0, at) + insert + receipt.slice(at + remove))
      .filter((text) => !receipts.includes(text));
    fc.assert(
      fc.property(altered, (text) => {
        expect(() => find(text)).toThrow(stale);
      }),
      { numRuns: 2_000 },
    );
    for (const receipt of receipts) expect(find(receipt)).toHaveLength(1);
  });
});
