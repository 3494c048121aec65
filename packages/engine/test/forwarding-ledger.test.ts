/**
 * The rows that the sender of a shard writes so that it asks its receiver for the outcome after a crash. Also every pair of state and
 * command of a forwarding, tried on its ledger: it does what the table says, or stops the instance and writes nothing.
 */
import { describe, expect, it } from 'vitest';
import type { GroupCommit } from '../src/commit/group-commit.ts';
import { ForwardingLedger } from '../src/forwarding/forwarding-ledger.ts';
import type { ForwardedOutRow } from '../src/model/forwarding-row.ts';
import {
  type ForwardingCommand,
  type ForwardingState,
  forwardingLife,
} from '../src/model/forwarding-state.ts';
import { InvariantViolation } from '../src/model/invariant.ts';

const shardKey = { queueId: 1, shard: 100 };

function openLedger(rows: readonly ForwardedOutRow[] = []) {
  const written: ForwardedOutRow[][] = [];
  const failures: unknown[] = [];
  const group = {
    fail: (error: unknown) => failures.push(error),
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
  return { ledger, written, failures };
}

const row = (receiver: number, fields: Partial<ForwardedOutRow> = {}): ForwardedOutRow => ({
  ...shardKey,
  receiver,
  batchNumber: 0,
  messagesTotal: 0,
  unsettled: false,
  ...fields,
});

it('a receiver is recorded as unsettled before its first batch, and a later one takes its place', async () => {
  const { ledger, written } = openLedger();
  await ledger.open(2);
  await ledger.open(2);
  await ledger.open(3);
  expect(written).toEqual([[row(2, { unsettled: true })], [row(3, { unsettled: true }), row(2)]]);
  expect(ledger).toMatchObject({ state: 'open', receiver: 3 });
});

it('a consumed batch is recorded, and after a close no receiver is unsettled', async () => {
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

it('rows that record two receivers as unsettled stop the instance', () => {
  const rows = [row(2, { unsettled: true }), row(3, { unsettled: true })];
  expect(() => openLedger(rows)).toThrow(InvariantViolation);
});

describe('the life of a forwarding', () => {
  const commands: Record<ForwardingCommand, (ledger: ForwardingLedger, receiver: number) => unknown> = {
    open: (ledger, receiver) => ledger.open(receiver),
    close: (ledger) => ledger.close(),
    send: (ledger) => ledger.apply('send'),
    accept: (ledger) => ledger.apply('accept'),
    refuse: (ledger) => ledger.apply('refuse'),
    loseConnection: (ledger) => ledger.apply('loseConnection'),
    consume: (ledger) => ledger.consumeForwarded(1, []),
    finishDelivery: (ledger) => ledger.apply('finishDelivery'),
  };

  const commandsTo: Record<ForwardingState, ForwardingCommand[]> = {
    closed: [],
    open: ['open'],
    sending: ['open', 'send'],
    sendingMore: ['open', 'send', 'accept', 'consume', 'send'],
    consuming: ['open', 'send', 'accept'],
    forwarded: ['open', 'send', 'accept', 'consume'],
    inDoubt: ['open', 'send', 'loseConnection'],
  };

  it('has each of its commands tried here', () => {
    expect(forwardingLife.commands.toSorted()).toEqual(Object.keys(commands).toSorted());
  });

  it.each(
    forwardingLife.states.flatMap((state) =>
      forwardingLife.commands.map((command) => ({
        state,
        command,
        next: forwardingLife.find(state, command),
      })),
    ),
  )('$state: $command leads to $next', async ({ state, command, next }) => {
    const { ledger, written, failures } = openLedger();
    for (const each of commandsTo[state]) await commands[each](ledger, 2);
    expect(ledger.state).toBe(state);
    const writtenBefore = written.length;
    const apply = async () => commands[command](ledger, 3);
    if (next === undefined) {
      await expect(apply()).rejects.toThrow(InvariantViolation);
      expect(failures).toHaveLength(1);
      expect(written).toHaveLength(writtenBefore);
    } else {
      await apply();
      expect(failures).toEqual([]);
    }
    expect(ledger.state).toBe(next ?? state);
  });
});
