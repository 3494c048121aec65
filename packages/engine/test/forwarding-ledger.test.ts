/** The rows that the sender of a shard writes, without which it would not ask its receiver after a crash. */
import { expect, it } from 'vitest';
import type { GroupCommit } from '../src/commit/group-commit.ts';
import { ForwardingLedger } from '../src/forwarding/forwarding-ledger.ts';
import type { ForwardedOutRow } from '../src/model/forwarding-row.ts';

const shardKey = { queueId: 1, shard: 100 };

function openLedger(rows: readonly ForwardedOutRow[] = []) {
  const written: ForwardedOutRow[][] = [];
  const group = {
    async write({ onClose }: { onClose(): { row: ForwardedOutRow }[] }) {
      written.push(onClose().map(({ row }) => row));
    },
  };
  const ledger = new ForwardingLedger({
    shardKey,
    group: group as unknown as GroupCommit,
    sync: 'FULL',
    rows,
  });
  return { ledger, written };
}

const row = (receiver: number, fields: Partial<ForwardedOutRow> = {}): ForwardedOutRow => ({
  ...shardKey,
  receiver,
  batchNumber: 0,
  messagesTotal: 0,
  unsettled: false,
  ...fields,
});

it('a receiver is recorded as one to ask before the first batch, and another one in its place', async () => {
  const { ledger, written } = openLedger();
  await ledger.open(2);
  await ledger.open(2);
  await ledger.open(3);
  expect(written).toEqual([[row(2, { unsettled: true })], [row(3, { unsettled: true }), row(2)]]);
  expect(ledger).toMatchObject({ state: 'open', receiver: 3 });
});

it('a consumed batch counts in the total, and a close leaves nobody to ask', async () => {
  const { ledger, written } = openLedger();
  await ledger.open(2);
  ledger.apply('send');
  ledger.apply('accept');
  await ledger.consumeForwarded(7, []);
  ledger.apply('finishDelivery');
  await ledger.close();
  expect(written.slice(1)).toEqual([
    [row(2, { unsettled: true, batchNumber: 7 })],
    [row(2, { batchNumber: 7 })],
  ]);
  expect(ledger).toMatchObject({ state: 'closed', receiver: 0 });
});

it('a receiver that an earlier process recorded is in doubt', () => {
  const { ledger } = openLedger([row(2), row(3, { unsettled: true, messagesTotal: 5 })]);
  expect(ledger).toMatchObject({ state: 'inDoubt', receiver: 3, forwardedOut: 5 });
});
