/** In which order a session thread turns to its sessions, and when their programs learn that a call or commit has ended. */
import { simulate } from '@shardlab/model';
import { expect, test } from 'vitest';
import { costsWith, nodeLike, workloadWith } from './model-costs.ts';

/** One thread on which a call takes 10 µs and nothing else any time, but for the writer: 1 ms for a group. */
const callsOnly = costsWith({
  machine: { coresPerNode: 64 },
  sessions: { oneThread: true },
  redo: { groupsInFlight: 2 },
  sharded: { callUs: 10, writeGroupUs: 1_000 },
});

const callMs = (sessions: number, oneThread: boolean) =>
  simulate({
    costs: costsWith({ sessions: { oneThread } }, callsOnly),
    workload: workloadWith({ enqueuers: sessions, dequeuers: sessions, operationsPerTransaction: 10 }),
    measureOperations: 40_000,
  }).dequeueCallMs.p50;

test('a call on a thread that sessions share ends when the thread turns to its session again', () => {
  expect(callMs(16, false)).toBeLessThan(3 * callMs(1, false));
  expect(callMs(16, true)).toBeGreaterThan(6 * callMs(1, true));
});

test('sessions of 320 operations continue in one turn, so the call of one does not wait for all others', () => {
  // 32 transactions of 10 operations, one call each.
  expect(callMs(64, true)).toBeLessThanOrEqual(0.33);
  expect(callMs(64, true)).toBeGreaterThan(0.1);
});

test('sessions that share the write lock continue when it has served all that wait: their commits last longer than their calls', () => {
  const { dequeueCallMs, commitMs } = simulate({
    costs: costsWith({ variation: { cpu: 0, redo: 0 } }, nodeLike),
    workload: workloadWith({ kind: 'unsharded', enqueuers: 16, dequeuers: 16, backlogMax: 5_000 }),
    measureOperations: 40_000,
  });
  expect(dequeueCallMs.p50).toBeLessThan(0.25 * commitMs.p50);
});

test('the writer writes the consumption of a group once for each subscriber', () => {
  const cpuUsOfGroup = (subscribers: number) => {
    const { cpuUsPerMessage, transactionsPerGroup } = simulate({
      costs: costsWith({ sharded: { writeConsumptionUs: 100 }, redo: { syncUs: 1_000 } }),
      workload: workloadWith({
        enqueuers: 10 / subscribers,
        dequeuers: 10,
        subscribers,
        operationsPerTransaction: 1,
      }),
      measureOperations: 40_000,
    });
    // Of the transactions of a message one enqueues it, and each subscriber dequeues it.
    return cpuUsPerMessage * transactionsPerGroup * (subscribers / (subscribers + 1));
  };
  expect(cpuUsOfGroup(1)).toBeLessThan(110);
  expect(cpuUsOfGroup(10)).toBeGreaterThan(450);
});

test('an embedded enqueuer stages and commits in one go, so that a call of a dequeuer does not wait for its next step', () => {
  const { dequeueCallMs } = simulate({
    costs: costsWith({ sharded: { transactionUs: 100 } }, callsOnly),
    workload: workloadWith({ enqueuers: 1, dequeuers: 1 }),
    measureOperations: 20_000,
  });
  expect(dequeueCallMs.p50).toBeLessThan(0.015);
});
