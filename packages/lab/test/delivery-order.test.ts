/** Checks of the order of deliveries across several dequeuers, and of redeliveries. */
import { describe, expect, test } from 'vitest';
import { countOvertaken, DeliverySpans } from '../src/integrity/delivery-spans.ts';
import { DeliveryOrder, Ledger, mergeLedgers, RecoveredOrder } from '../src/integrity/ledger.ts';
import { PayloadCodec } from '../src/integrity/payload.ts';

const identity = (sequence: number, enqueuer = 0) => ({ enqueuer, sequence, sentAtMs: 0 });

/** The deliveries of one process: each call has its interval and what it delivered. */
function spansOf(calls: [fromMs: number, toMs: number, sequences: number[]][], enqueuer = 0): Float64Array {
  const spans = new DeliverySpans();
  for (const [fromMs, toMs, sequences] of calls)
    for (const sequence of sequences) spans.add(identity(sequence, enqueuer), { fromMs, toMs });
  return spans.numbers();
}

describe('over all dequeuers of an unsharded queue', () => {
  test('calls at the same time may deliver in either order', () => {
    const [one, two] = [spansOf([[0, 10, [2, 3]]]), spansOf([[5, 12, [0, 1]]])];
    expect(countOvertaken([one, two])).toBe(0);
  });

  test('a message was overtaken if its call began after a later message had been delivered by another call', () => {
    const [one, two] = [spansOf([[0, 10, [2, 3]]]), spansOf([[11, 12, [0, 1, 4]]])];
    expect(countOvertaken([one, two])).toBe(2);
  });

  test('messages of different enqueuers have no order', () => {
    expect(countOvertaken([spansOf([[0, 10, [5]]], 1), spansOf([[11, 12, [0]]], 2)])).toBe(0);
  });

  test('overtaken messages count in the integrity of the trial', () => {
    const codec = new PayloadCodec({ bytes: 32, seed: 1, nonce: 1 });
    const [late, early] = [new Ledger(codec, { isShared: true }), new Ledger(codec, { isShared: true })];
    const deliver = (ledger: Ledger, sequence: number, fromMs: number) => {
      const payload = codec.make(identity(sequence));
      const call = { fromMs, toMs: fromMs + 1 };
      ledger.recordConsumed(ledger.recordDelivery({ payload, deliveryCount: 1 }, new DeliveryOrder(), call)!);
    };
    deliver(early, 1, 0);
    deliver(late, 0, 5);
    early.recordCommitted(0, 2);
    const clean = { lost: 0, duplicated: 0, damaged: 0, left: 0 };
    expect(mergeLedgers([late.report(), early.report()])).toEqual({ ...clean, outOfOrder: 1 });
  });

  test('thousands of calls with one message each are all checked', () => {
    const calls = Array.from({ length: 5_000 }, (_, at): [number, number, number[]] => [at, at + 0.5, [at]]);
    expect(countOvertaken([spansOf(calls)])).toBe(0);
    expect(
      countOvertaken([spansOf(calls.toReversed().map(([from, to, [at]]) => [from, to, [4_999 - at!]]))]),
    ).toBe(4_999);
  });
});

describe('redeliveries', () => {
  const codec = new PayloadCodec({ bytes: 32, seed: 1, nonce: 1 });

  test.each([
    [[0, 1, 2], 0],
    [[1, 0, 2], 1],
    [[2, 1, 0], 2],
  ])('of one call, %j, have %i out of order', (sequences, outOfOrder) => {
    const ledger = new Ledger(codec);
    ledger.checkRedelivered(sequences.map((sequence) => identity(sequence)));
    expect(ledger.report().outOfOrder).toBe(outOfOrder);
  });

  test('of one call may be of several enqueuers', () => {
    const ledger = new Ledger(codec);
    ledger.checkRedelivered([identity(5, 1), identity(0, 2), identity(6, 1)]);
    expect(ledger.report().outOfOrder).toBe(0);
  });

  test('after a restart must all be in order, whatever their delivery count', () => {
    const [first, recovered] = [new DeliveryOrder(), new RecoveredOrder()];
    expect([3, 2].map((sequence) => first.inOrder(identity(sequence), 2))).toEqual([true, true]);
    expect([3, 2].map((sequence) => recovered.inOrder(identity(sequence)))).toEqual([true, false]);
  });
});
