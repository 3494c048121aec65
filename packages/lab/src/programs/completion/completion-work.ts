/** Enqueues a number of messages and dequeues them all, in whole cycles, and measures rates and CPU. */
import type { WaitRecorder } from '@shardlab/engine';
import { SessionWindow } from '../../meters/session-window.ts';
import type { ConsumeOptions, QueueClient } from '../../systems/driver/driver.ts';
import { cpuUsOfTrees } from '../../systems/driver/process-cpu.ts';
import { timeFigures } from '../queue/trial/time-figures.ts';
import type { CheckedDeliveries } from './checked-deliveries.ts';
import type { ClientResult, CompletionWork } from './client-job.ts';
import type { Enqueuers } from './enqueuers.ts';

/** Messages of a warm-up cycle: few, so that a system that syncs each one does not exceed its time by much. */
const warmupMessages = 100;

export interface WorkContext {
  client: QueueClient;
  /** For the times of its sessions. */
  book: WaitRecorder;
  enqueuers: Enqueuers;
  deliveries: CheckedDeliveries;
  drainMs: number;
  serverPids: readonly number[];
  /** Called when the warm-up is over. */
  onMeasure?: () => void;
}

export type Measured = Pick<ClientResult, 'figures' | 'measuredMs' | 'waits'>;

/** Times of one cycle, milliseconds. */
interface Cycle {
  enqueueMs: number;
  dequeueMs: number;
  elapsedMs: number;
}

/** Returns no figures if messages did not arrive: the ledger lists them. */
export async function runCompletion(work: CompletionWork, context: WorkContext): Promise<Measured> {
  const { warmupMs, measureMs, messages } = work;
  const warmUntil = performance.now() + warmupMs;
  while (performance.now() < warmUntil)
    await runCycle({ ...work, messages: Math.min(messages, warmupMessages) }, context);

  context.onMeasure?.();
  const sessions = new SessionWindow(context.client.waits ?? context.book);
  const cpuBefore = cpuOf(context.serverPids);
  const startMs = performance.now();
  const cycles: Cycle[] = [];
  let isComplete = true;
  while (isComplete && (cycles.length === 0 || performance.now() - startMs < measureMs)) {
    const cycle = await runCycle(work, context);
    if (cycle === null) isComplete = false;
    else cycles.push(cycle);
  }
  const measuredMs = performance.now() - startMs;
  const cpuAfter = cpuOf(context.serverPids);
  sessions.close();
  const spent = sessions.result();
  // The ledger lists the missing messages; a rate would be meaningless if not all arrived.
  if (!isComplete) return { figures: {}, measuredMs, waits: spent.waits };
  const total = messages * cycles.length;
  const sum = (time: (cycle: Cycle) => number) => cycles.reduce((all, cycle) => all + time(cycle), 0);
  const server =
    cpuBefore.server === null || cpuAfter.server === null
      ? {}
      : { serverCpuUsPerMessage: (cpuAfter.server - cpuBefore.server) / total };
  return {
    figures: {
      enqueuePerSec: (total * 1_000) / sum(({ enqueueMs }) => enqueueMs),
      dequeuePerSec: (total * 1_000) / sum(({ dequeueMs }) => dequeueMs),
      elapsedMs: sum(({ elapsedMs }) => elapsedMs) / cycles.length,
      clientCpuUsPerMessage: (cpuAfter.client - cpuBefore.client) / total,
      ...server,
      ...timeFigures([spent]),
    },
    measuredMs,
    waits: spent.waits,
  };
}

function cpuOf(serverPids: readonly number[]): { client: number; server: number | null } {
  const { user, system } = process.cpuUsage();
  return { client: user + system, server: cpuUsOfTrees(serverPids) };
}

/** Null if messages are missing: if not as many as `everything` were consumed, those of earlier cycles included. */
export async function runCycle(
  { messages, threads, atOnce }: Pick<CompletionWork, 'messages' | 'threads' | 'atOnce'>,
  { client, enqueuers, deliveries, drainMs, book }: WorkContext,
  everything = deliveries.count + messages,
): Promise<Cycle | null> {
  const consuming: ConsumeOptions = { consumers: threads, operations: 1, deliveries, book };
  const early = atOnce ? await client.consume(consuming) : null;
  const startMs = performance.now();
  await enqueuers.enqueueAll(messages);
  const enqueuedMs = performance.now();
  const consumption = early ?? (await client.consume(consuming));
  // Connecting is no part of dequeuing.
  const dequeuingMs = atOnce ? startMs : performance.now();
  const consumedMs = await deliveries.whenConsumed(everything, drainMs);
  await consumption.stop();
  if (consumedMs === null) return null;
  const [enqueueMs, dequeueMs] = [enqueuedMs - startMs, consumedMs - dequeuingMs];
  return { enqueueMs, dequeueMs, elapsedMs: atOnce ? consumedMs - startMs : enqueueMs + dequeueMs };
}
