import { describe, expect, test } from 'vitest';
import {
  DeliveryOrder,
  FirstSightOrder,
  Ledger,
  mergeBySource,
  mergeLedgers,
  SeenMessages,
} from '../src/integrity/ledger.ts';
import { PayloadCodec } from '../src/integrity/payload.ts';

const codec = new PayloadCodec({ bytes: 40, seed: 1, nonce: 1 });
const message = (enqueuer: number, sequence: number, deliveryCount = 1) => ({
  payload: codec.make({ enqueuer, sequence, sentAtMs: 0 }),
  deliveryCount,
});
const clean = { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 };

/** The ledger of one process: the number of committed messages of each enqueuer, and the messages that were consumed or left. */
function ledger(facts: {
  committed?: [number, number][];
  consumed?: [number, number][];
  left?: [number, number][];
}) {
  const made = new Ledger(codec);
  for (const [enqueuer, count] of facts.committed ?? []) made.recordCommitted(enqueuer, count);
  for (const [enqueuer, sequence] of facts.consumed ?? [])
    made.recordConsumed({ enqueuer, sequence, sentAtMs: 0 });
  for (const [enqueuer, sequence] of facts.left ?? []) made.recordRemaining(message(enqueuer, sequence));
  return made;
}

describe('ledgers of several processes together', () => {
  test('are clean if each committed message was consumed once, on any instance', () => {
    const one = ledger({
      committed: [[0, 3]],
      consumed: [
        [0, 0],
        [1, 1],
      ],
    }).report();
    const two = ledger({
      committed: [[1, 2]],
      consumed: [
        [1, 0],
        [0, 2],
        [0, 1],
      ],
    }).report();
    expect(mergeLedgers([one, two])).toEqual(clean);
  });

  test('count messages that were browsed after the drain as left, not lost', () => {
    const report = ledger({
      committed: [[0, 4]],
      consumed: [
        [0, 0],
        [0, 1],
      ],
      left: [
        [0, 2],
        [0, 3],
      ],
    }).report();
    expect(mergeLedgers([report])).toEqual({ ...clean, left: 2 });
  });

  test('count messages as lost that are neither consumed nor left', () => {
    const report = ledger({
      committed: [
        [0, 4],
        [1, 2],
      ],
      consumed: [
        [0, 0],
        [0, 3],
      ],
      left: [[0, 1]],
    }).report();
    expect(mergeLedgers([report])).toEqual({ ...clean, lost: 3, left: 1 });
  });

  test('count messages as duplicated that were consumed twice, in one process or in two', () => {
    const once = ledger({
      committed: [[0, 2]],
      consumed: [
        [0, 0],
        [0, 1],
      ],
    });
    const again = ledger({ consumed: [[0, 1]] });
    expect(mergeLedgers([once.report(), again.report()])).toEqual({ ...clean, duplicated: 1 });
    const twice = ledger({
      committed: [[0, 1]],
      consumed: [
        [0, 0],
        [0, 0],
      ],
    });
    expect(mergeLedgers([twice.report()])).toEqual({ ...clean, duplicated: 1 });
  });

  test('count a message as duplicated, not left, that was consumed and is still in the queue', () => {
    const report = ledger({ committed: [[0, 1]], consumed: [[0, 0]], left: [[0, 0]] }).report();
    expect(mergeLedgers([report])).toEqual({ ...clean, duplicated: 1 });
  });

  test('count a message as damaged that was never committed, and do not offset it against a loss', () => {
    const report = ledger({
      committed: [[0, 2]],
      consumed: [
        [0, 0],
        [0, 5],
      ],
      left: [[7, 0]],
    }).report();
    expect(mergeLedgers([report])).toEqual({ ...clean, lost: 1, damaged: 2, left: 1 });
  });
});

describe('a delivery', () => {
  test('is damaged if the payload is not what was sent', () => {
    const made = new Ledger(codec);
    const bad = message(0, 0);
    bad.payload[30] = bad.payload[30]! ^ 1;
    expect(made.recordDelivery(bad, new DeliveryOrder())).toBeNull();
    expect(made.report()).toMatchObject({ damaged: 1, outOfOrder: 0 });
  });

  test('is out of order after a later message of the same enqueuer, but not of another one', () => {
    const made = new Ledger(codec);
    const order = new DeliveryOrder();
    for (const each of [message(0, 0), message(1, 5), message(0, 2), message(1, 4)])
      made.recordDelivery(each, order);
    expect(made.report().outOfOrder).toBe(1);
  });

  test('is checked for its order by each observer separately', () => {
    const made = new Ledger(codec);
    made.recordDelivery(message(0, 2), new DeliveryOrder());
    made.recordDelivery(message(0, 1), new DeliveryOrder());
    expect(made.report().outOfOrder).toBe(0);
  });

  test('may come at any time if it is a redelivery', () => {
    const made = new Ledger(codec);
    const order = new DeliveryOrder();
    made.recordDelivery(message(0, 5), order);
    made.recordDelivery(message(0, 1, 2), order);
    expect(made.report().outOfOrder).toBe(0);
  });
});

describe('ledgers of several subscribers', () => {
  const all: [number, number][] = [
    [0, 0],
    [0, 1],
  ];
  const committed: [number, number][] = [[0, 2]];
  const good = () => ledger({ committed, consumed: all }).report();

  test('are clean if each of them got every message once', () => {
    expect(mergeBySource([[good(), good()]])).toEqual(clean);
  });

  test('count a message as lost that one subscriber missed, even if another one got it twice', () => {
    const missed = ledger({ committed, consumed: [[0, 0]] }).report();
    const twice = ledger({ committed, consumed: [...all, [0, 1]] }).report();
    expect(mergeBySource([[missed, twice]])).toEqual({ ...clean, lost: 1, duplicated: 1 });
  });

  test('combine what a subscriber left with what it consumed on another instance', () => {
    const here = ledger({ committed, consumed: [[0, 0]] }).report();
    const there = ledger({ consumed: [[0, 1]] }).report();
    const left = ledger({ committed, consumed: [[0, 0]], left: [[0, 1]] }).report();
    expect(
      mergeBySource([
        [here, left],
        [there, ledger({}).report()],
      ]),
    ).toEqual({ ...clean, left: 1 });
  });
});

describe('the order of messages that a session sees for the first time', () => {
  const identity = (sequence: number) => ({ enqueuer: 0, sequence, sentAtMs: 0 });

  test('ignores messages that any session has seen before', () => {
    const sighted = new SeenMessages();
    const [one, two] = [new FirstSightOrder(sighted), new FirstSightOrder(sighted)];
    expect([0, 1].map((sequence) => one.inOrder(identity(sequence), 1))).toEqual([true, true]);
    expect([2, 3].map((sequence) => two.inOrder(identity(sequence), 1))).toEqual([true, true]);
    expect([0, 1, 4].map((sequence) => two.inOrder(identity(sequence), 1))).toEqual([true, true, true]);
  });

  test('is violated by a message that is older than one it has seen', () => {
    const order = new FirstSightOrder(new SeenMessages());
    expect([0, 5, 4, 6].map((sequence) => order.inOrder(identity(sequence), 1))).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });
});
