import { describe, expect, test } from 'vitest';
import { BacklogShares } from '../src/programs/queue/trial/backlog-shares.ts';
import type { ToWorker } from '../src/programs/queue/trial/protocol.ts';
import { BacklogGate } from '../src/trial/backlog-gate.ts';

/** Whether a promise is resolved once everything that is due has run. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

describe('the backlog gate', () => {
  test('is full at its bound and lets waiters go when a consumer makes room', async () => {
    const gate = new BacklogGate(20);
    gate.enqueued(10);
    expect(gate.full).toBe(false);
    gate.enqueued(10);
    expect(gate.full).toBe(true);
    const waiters = [gate.wait(), gate.wait()];
    expect(await isDone(waiters[0]!)).toBe(false);
    gate.consumed(1);
    await Promise.all(waiters);
    expect(gate.full).toBe(false);
  });

  test('follows the share of a shared queue instead of its own counts', async () => {
    const gate = new BacklogGate(20);
    gate.enqueued(30);
    const waiting = gate.wait();
    gate.setShare(5);
    await waiting;
    gate.enqueued(15);
    expect(gate.full).toBe(true);
  });

  test('never holds anybody after the phase has ended', async () => {
    const gate = new BacklogGate(20);
    gate.enqueued(30);
    const waiting = gate.wait();
    gate.disable();
    await waiting;
    expect(gate.full).toBe(false);
  });
});

test('instances that share a backlog are told their share at each report of one of them', () => {
  const sent: ToWorker[] = [];
  const worker = { send: (message: ToWorker) => void sent.push(message) };
  const shares = new BacklogShares([worker, worker]);
  const expectShare = (messages: number) =>
    expect(sent.splice(0)).toEqual([
      { type: 'backlogShare', messages },
      { type: 'backlogShare', messages },
    ]);
  shares.update(1, 60);
  expectShare(30);
  shares.update(2, -20); // it dequeues what the other one enqueues
  expectShare(20);
  shares.update(1, 10); // reports of different moments
  expectShare(0);
});
