/** Intended send times do not shift if a system stalls, so that a stall adds to the latency of every message that it delayed. */
import { describe, expect, it } from 'vitest';
import { createMonotonicClock } from '../src/meters/clock.ts';
import { PacedLoad } from '../src/programs/load/paced-load.ts';

const transactionsPerSec = 500;
const intervalMs = 1_000 / transactionsPerSec;
const producer = { send: async () => {} };

/** Intended send times of this many transactions; `send` gets the number of each. */
async function sentAt(
  transactions: number,
  send: (transaction: number) => Promise<void>,
  producers = [producer],
): Promise<number[]> {
  const sent: number[] = [];
  const paced = new PacedLoad({
    transactionsPerSec,
    clock: createMonotonicClock(),
    producers,
    isMeasured: () => true,
    async send(_, __, sentAtMs) {
      sent.push(sentAtMs);
      if (sent.length === transactions) paced.stop();
      await send(sent.length);
    },
  });
  await paced.waitUntilReady();
  await paced.run(createMonotonicClock()());
  expect(paced.scheduleLag.totalCount).toBe(sent.length);
  return sent;
}

describe('an open loop', () => {
  it('has send times at equal intervals, even if a transaction takes long', async () => {
    const stall = (transaction: number) =>
      new Promise<void>((resolve) => setTimeout(resolve, transaction === 5 ? 60 : 0));
    const sent = await sentAt(60, stall);
    expect(sent).toHaveLength(60);
    const [first] = sent;
    for (const [index, atMs] of sent.entries()) expect(atMs).toBeCloseTo(first! + index * intervalMs, 6);
  });

  it('begins transactions while others are under way, as long as a producer is free', async () => {
    const blocked = Promise.withResolvers<void>();
    const sent = await sentAt(
      10,
      async (transaction) => {
        if (transaction === 1) await blocked.promise;
        if (transaction === 10) blocked.resolve();
      },
      [producer, producer],
    );
    expect(sent).toHaveLength(10);
  });

  it('fails with what a transaction threw', async () => {
    const failing = sentAt(10, () => Promise.reject(new Error('disk')));
    await expect(failing).rejects.toThrow('disk');
  });
});
