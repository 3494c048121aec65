import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LoadLedger, type LoadMessage } from '../src/load/load-ledger.ts';

const message = { enqueuer: 1, no: 5 };

describe('the book of a load', () => {
  it('knows what waits: acknowledged, and not consumed', () => {
    const ledger = new LoadLedger(2);
    ledger.acknowledge(message);
    expect(ledger.counts).toMatchObject({ acknowledged: 1, consumed: 0, waiting: 1 });
    ledger.handOut(message);
    ledger.consume(message, true);
    expect(ledger.counts).toEqual({ acknowledged: 1, consumed: 1, unknown: 0, doubled: 0, waiting: 0 });
  });

  it('takes a consumption that is known before its enqueue is', () => {
    const ledger = new LoadLedger(2);
    ledger.handOut(message);
    ledger.consume(message, true);
    ledger.acknowledge(message);
    expect(ledger.counts).toMatchObject({ acknowledged: 1, consumed: 1, waiting: 0, doubled: 0 });
  });

  it('calls a message doubled that is handed out after its consumption, not before', () => {
    const ledger = new LoadLedger(2);
    ledger.acknowledge(message);
    for (let i = 0; i < 3; i++) ledger.handOut(message); // its consumers died
    ledger.consume(message, true);
    expect(ledger.counts.doubled).toBe(0);
    ledger.handOut(message);
    expect(ledger.counts.doubled).toBe(1);
    ledger.consume(message, true);
    expect(ledger.counts).toMatchObject({ consumed: 1, doubled: 1, waiting: 0 });
  });

  it('neither misses nor doubts a message whose consumption has an unknown outcome', () => {
    const ledger = new LoadLedger(2);
    ledger.acknowledge(message);
    ledger.handOut(message);
    ledger.consume(message, false);
    expect(ledger.counts).toMatchObject({ consumed: 0, waiting: 0 });
    ledger.handOut(message); // it was not
    ledger.consume(message, true);
    expect(ledger.counts).toMatchObject({ consumed: 1, waiting: 0, doubled: 0 });
  });

  it('does not miss a message whose enqueue has an unknown outcome', () => {
    const ledger = new LoadLedger(2);
    ledger.doNotKnow(message);
    expect(ledger.counts).toMatchObject({ acknowledged: 0, unknown: 1, waiting: 0 });
    ledger.handOut(message);
    ledger.consume(message, true);
    expect(ledger.counts).toMatchObject({ consumed: 1, waiting: 0, doubled: 0 });
  });

  it('adds up whatever the order, as a plain list does', () => {
    const messages = fc.record({ enqueuer: fc.nat(2), no: fc.nat(3_000) });
    const step = fc.tuple(fc.constantFrom('acknowledge', 'handOut', 'consume'), messages);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const ledger = new LoadLedger(3);
        const seen = { acknowledge: new Set<string>(), consume: new Set<string>() };
        let doubled = 0;
        const keyOf = ({ enqueuer, no }: LoadMessage) => `${enqueuer}.${no}`;
        for (const [what, of] of steps) {
          const key = keyOf(of);
          if (what === 'handOut') {
            if (seen.consume.has(key)) doubled += 1;
            ledger.handOut(of);
          } else if (what === 'consume') {
            ledger.consume(of, true);
            seen.consume.add(key);
          } else if (!seen.acknowledge.has(key)) {
            ledger.acknowledge(of);
            seen.acknowledge.add(key);
          }
        }
        expect(ledger.counts).toEqual({
          acknowledged: seen.acknowledge.size,
          consumed: seen.consume.size,
          unknown: 0,
          doubled,
          waiting: [...seen.acknowledge].filter((key) => !seen.consume.has(key)).length,
        });
      }),
    );
  });
});
