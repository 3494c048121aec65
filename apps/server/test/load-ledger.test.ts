import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LoadLedger, type LoadMessage } from '../src/load/load-ledger.ts';

const message = { enqueuer: 1, sequence: 5 };

describe('the ledger of a load', () => {
  it('counts messages as waiting that were acknowledged and not consumed', () => {
    const ledger = new LoadLedger(2);
    ledger.recordAcknowledged(message);
    expect(ledger.counts).toMatchObject({ acknowledged: 1, consumed: 0, waiting: 1 });
    ledger.recordDelivery(message);
    ledger.recordConsumed(message, true);
    expect(ledger.counts).toEqual({
      acknowledged: 1,
      consumed: 1,
      outcomeUnknown: 0,
      duplicated: 0,
      waiting: 0,
    });
  });

  it('accepts a consumption that is recorded before its enqueue', () => {
    const ledger = new LoadLedger(2);
    ledger.recordDelivery(message);
    ledger.recordConsumed(message, true);
    ledger.recordAcknowledged(message);
    expect(ledger.counts).toMatchObject({ acknowledged: 1, consumed: 1, waiting: 0, duplicated: 0 });
  });

  it('counts a message as duplicated if it is delivered after its consumption, but not before', () => {
    const ledger = new LoadLedger(2);
    ledger.recordAcknowledged(message);
    for (let i = 0; i < 3; i++) ledger.recordDelivery(message); // its consumers ended without consuming it
    ledger.recordConsumed(message, true);
    expect(ledger.counts.duplicated).toBe(0);
    ledger.recordDelivery(message);
    expect(ledger.counts.duplicated).toBe(1);
    ledger.recordConsumed(message, true);
    expect(ledger.counts).toMatchObject({ consumed: 1, duplicated: 1, waiting: 0 });
  });

  it('counts a message whose consumption has an unknown outcome neither as waiting nor as duplicated', () => {
    const ledger = new LoadLedger(2);
    ledger.recordAcknowledged(message);
    ledger.recordDelivery(message);
    ledger.recordConsumed(message, false);
    expect(ledger.counts).toMatchObject({ consumed: 0, waiting: 0 });
    ledger.recordDelivery(message); // it was not consumed
    ledger.recordConsumed(message, true);
    expect(ledger.counts).toMatchObject({ consumed: 1, waiting: 0, duplicated: 0 });
  });

  it('does not count a message as waiting whose enqueue has an unknown outcome', () => {
    const ledger = new LoadLedger(2);
    ledger.recordUnknown(message);
    expect(ledger.counts).toMatchObject({ acknowledged: 0, outcomeUnknown: 1, waiting: 0 });
    ledger.recordDelivery(message);
    ledger.recordConsumed(message, true);
    expect(ledger.counts).toMatchObject({ consumed: 1, waiting: 0, duplicated: 0 });
  });

  it('has the counts of a plain list, in any order of events', () => {
    const messages = fc.record({ enqueuer: fc.nat(2), sequence: fc.nat(3_000) });
    const step = fc.tuple(fc.constantFrom('acknowledge', 'deliver', 'consume'), messages);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const ledger = new LoadLedger(3);
        const seen = { acknowledge: new Set<string>(), consume: new Set<string>() };
        let duplicated = 0;
        const keyOf = ({ enqueuer, sequence }: LoadMessage) => `${enqueuer}.${sequence}`;
        for (const [what, of] of steps) {
          const key = keyOf(of);
          if (what === 'deliver') {
            if (seen.consume.has(key)) duplicated += 1;
            ledger.recordDelivery(of);
          } else if (what === 'consume') {
            ledger.recordConsumed(of, true);
            seen.consume.add(key);
          } else if (!seen.acknowledge.has(key)) {
            ledger.recordAcknowledged(of);
            seen.acknowledge.add(key);
          }
        }
        expect(ledger.counts).toEqual({
          acknowledged: seen.acknowledge.size,
          consumed: seen.consume.size,
          outcomeUnknown: 0,
          duplicated,
          waiting: [...seen.acknowledge].filter((key) => !seen.consume.has(key)).length,
        });
      }),
    );
  });
});
