/** The work of a client process that is killed, and of one that reads what it left. */
import type { RecoveryWork, UntilKilledWork } from './client-job.ts';
import { type Measured, runCycle, type WorkContext } from './completion-work.ts';

/**
 * Messages of a cycle: few, so that a system that syncs each one has enqueued and dequeued before the kill. As many remain in the
 * queue between cycles, so that there is something to lose at any moment, unless dequeuers work while enqueuers do.
 */
const messagesOfCycle = 200;
export const killedBacklogMax = 2 * messagesOfCycle;
/** Large transactions, so that the new process reads the queue quickly. */
export const recoveryOperations = 100;

export async function runUntilKilled(work: UntilKilledWork, context: WorkContext): Promise<never> {
  await context.enqueuers.enqueueAll(messagesOfCycle);
  const cycle = { ...work, messages: messagesOfCycle };
  for (let total = messagesOfCycle; ; total += messagesOfCycle) await runCycle(cycle, context, total);
}

/** Consumes what the system has; the ledger lists it. */
export async function runRecovery({ threads }: RecoveryWork, context: WorkContext): Promise<Measured> {
  const { client, deliveries, book, drainMs } = context;
  const startMs = performance.now();
  const left = await client.depth(0);
  const consuming = { consumers: threads, operations: recoveryOperations, deliveries, book };
  const consumption = await client.consume(consuming);
  await deliveries.whenConsumed(left, drainMs);
  await consumption.stop();
  return { figures: {}, measuredMs: performance.now() - startMs, waits: [] };
}
