import type { Workload } from './workload.ts';

/**
 * One enqueuer session in a closed loop: transactions of the workload's size, each begun when the one before is
 * durable. Rejects with the engine's error if a commit fails.
 *
 * With round trips every enqueue and the commit waits one first. Since the engine only stages an enqueue in memory,
 * the messages are staged together right before the commit, and carry the time at which that began.
 */
export async function runEnqueuer(work: Workload, enqueuer: number): Promise<void> {
  const { instance, config, clock, meter, ledger, forge, gate, roundTrips } = work;
  const { operationsPerTransaction: operations } = config;
  const queue = config.queue.name;
  const session = instance.openSession();
  let sequence = 0;
  while (!work.stopped) {
    if (gate.full) {
      const since = clock();
      await gate.wait();
      instance.waits.record('flow control', clock() - since);
      continue;
    }
    if (roundTrips !== null) {
      for (let call = 0; call <= operations && !work.stopped; call++) await roundTrips.wait();
      if (work.stopped) break;
    }
    const sentAtMs = clock();
    for (let operation = 0; operation < operations; operation++) {
      session.enqueue(queue, { payload: forge.make({ enqueuer, sequence: sequence + operation, sentAtMs }) });
    }
    await session.commit();
    sequence += operations;
    ledger.committed(enqueuer, sequence);
    meter.enqueued += operations;
    gate.enqueued(operations);
    await work.breathe();
  }
  await session.close();
}
