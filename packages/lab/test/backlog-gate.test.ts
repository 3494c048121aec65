import { describe, expect, test } from 'vitest';
import { BacklogShares } from '../src/programs/queue/trial/backlog-shares.ts';
import type { ToWorker } from '../src/programs/queue/trial/protocol.ts';
import { BacklogGate } from '../src/trial/backlog-gate.ts';

/** Whether a promise is resolved at the end of this turn of the event loop. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

describe('the backlog gate', () => {
  test('is full at its bound and releases waiters when a consumer makes room', async () => {
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

  test('uses its share of a queue that instances share instead of its own counts', async () => {
    const gate = new BacklogGate(20);
    gate.enqueued(30);
    const waiting = gate.wait();
    gate.setShare(5);
    await waiting;
    gate.enqueued(15);
    expect(gate.full).toBe(true);
  });

  test('blocks no enqueuer after it was disabled at the end of a phase', async () => {
    const gate = new BacklogGate(20);
    gate.enqueued(30);
    const waiting = gate.wait();
    gate.disable();
    await waiting;
    expect(gate.full).toBe(false);
  });
});

test('instances that share a backlog are sent their share whenever one of them reports its counts', () => {
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
