import { createHistogram, encodeHistogram, Ledger, PayloadCodec, recordMs } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import { plainjobs, serverPeers } from '../src/drivers/systems.ts';
import { bestConsumers, type Probed } from '../src/plan/probe.ts';
import { scales } from '../src/plan/scale.ts';
import { probesOf, trialsOf } from '../src/plan/trials.ts';
import { integrityOf, type Sample } from '../src/trial/sample.ts';

const forge = new PayloadCodec({ bytes: 64, seed: 1, nonce: 1 });

function subscriberReports(committed: number, consumed: readonly number[], depth: number) {
  const [enqueuing, dequeuing] = [new Ledger(forge), new Ledger(forge)];
  enqueuing.recordCommitted(0, committed);
  for (const sequence of consumed) dequeuing.recordConsumed({ enqueuer: 0, sequence, sentAtMs: 0 });
  const last = [{ subscriberReports: [{ ledger: dequeuing.report(), depth }] }];
  const history = [{ subscriberReports: [{ ledger: enqueuing.report(), depth: 0 }] }, ...last];
  return [history, last] as const;
}

describe('the integrity of a trial', () => {
  it('is whole when what was not consumed is still counted', () => {
    expect(integrityOf(...subscriberReports(3, [0, 2], 1))).toEqual({
      lost: 0,
      duplicated: 0,
      damaged: 0,
      outOfOrder: 0,
      left: 1,
    });
  });

  it('counts a message that is neither consumed nor there as lost', () => {
    expect(integrityOf(...subscriberReports(3, [0], 1))).toMatchObject({ lost: 1, duplicated: 0 });
  });

  it('counts a message that is consumed and still there, or consumed twice, as duplicated', () => {
    expect(integrityOf(...subscriberReports(2, [0, 1], 1))).toMatchObject({ lost: 0, duplicated: 1 });
    expect(integrityOf(...subscriberReports(1, [0, 0], 0))).toMatchObject({ lost: 0, duplicated: 1 });
  });
});

describe('the plan', () => {
  it('names every trial once', () => {
    const keys = trialsOf(scales.full, [...plainjobs, ...serverPeers], () => 8).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('takes the consumers that were fastest, and in an open loop the ones with the lowest p99', () => {
    const system = plainjobs[0]!;
    const rates: Record<number, number> = { 1: 100, 8: 300, 32: 200 };
    const delays: Record<number, number> = { 1: 5, 8: 9, 32: 2 };
    const probed: Probed[] = probesOf(scales.smallest, system).map((trial) => {
      const latency = createHistogram();
      recordMs(latency, delays[trial.dequeuers]!);
      const sample = { dequeuePerSec: rates[trial.dequeuers]!, latency: encodeHistogram(latency) };
      return { trial, sample: sample as Sample };
    });
    const best = bestConsumers(probed);
    expect(best(system, 'both at once', 10)).toBe(8);
    expect(best(system, 'enqueue, then dequeue', 10)).toBe(8);
    expect(best(system, 'open loop', 1)).toBe(32);
  });
});
