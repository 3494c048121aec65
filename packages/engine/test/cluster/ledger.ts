/**
 * Compares the log of processes under load with the messages that are left in the queue.
 *
 *     e 17-1.3   is about to commit message 3 of enqueuer 17-1      E 17-1.3   that commit was acknowledged
 *     d 17-1.3   is about to commit its consumption                 D 17-1.3   acknowledged
 */
import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { openInstance } from '../../src/index.ts';

export interface Ledger {
  tried: Set<string>;
  enqueued: Set<string>;
  consumptionTried: Set<string>;
  /** Consumed messages in the order of the acknowledgements. */
  consumed: string[];
}

export function readLedger(log: string): Ledger {
  const ledger: Ledger = {
    tried: new Set(),
    enqueued: new Set(),
    consumptionTried: new Set(),
    consumed: [],
  };
  for (const line of existsSync(log) ? readFileSync(log, 'utf8').split('\n') : []) {
    const id = line.slice(2);
    if (line[0] === 'e') ledger.tried.add(id);
    else if (line[0] === 'E') ledger.enqueued.add(id);
    else if (line[0] === 'd') ledger.consumptionTried.add(id);
    else if (line[0] === 'D') ledger.consumed.push(id);
  }
  return ledger;
}

/** Payloads in the queue `q` of these instances, in the order of delivery. None of them is consumed. */
export async function readLeft(dir: string, instances: readonly number[]): Promise<string[]> {
  const left: string[] = [];
  for (const id of instances) {
    const instance = await openInstance({ dir, instance: id, partitionMessagesMax: 64 });
    const session = instance.openSession();
    for (;;) {
      const messages = await session.dequeue('q', { max: 1_000 });
      if (messages.length === 0) break;
      left.push(...messages.map((message) => message.payload.toString()));
    }
    expect(instance.queue('q').ready).toBe(0);
    await instance.close(); // The close rolls the dequeues back.
  }
  return left;
}

/** Expects ascending numbers per enqueuer: each enqueues to one shard of one instance, where one session at a time dequeues. */
export function expectSound(ledger: Ledger, left: readonly string[]): void {
  const live = new Set(left);
  const consumed = new Set(ledger.consumed);
  expect(live.size, 'stored twice').toBe(left.length);
  expect(consumed.size, 'consumed twice').toBe(ledger.consumed.length);
  expect(
    [...left, ...ledger.consumed].filter((id) => !ledger.tried.has(id)),
    'never enqueued',
  ).toEqual([]);
  expect(
    left.filter((id) => consumed.has(id)),
    'left after a committed dequeue',
  ).toEqual([]);
  const lost = [...ledger.enqueued].filter((id) => !live.has(id) && !ledger.consumptionTried.has(id));
  expect(lost, 'lost').toEqual([]);
  const delivered = [...ledger.consumed, ...left];
  for (const [enqueuer, ids] of Map.groupBy(delivered, (id) => id.split('.')[0]!)) {
    const numbers = ids.map((id) => Number(id.split('.')[1]));
    expect(numbers, `order of ${enqueuer}`).toEqual([...numbers].sort((a, b) => a - b));
  }
}
