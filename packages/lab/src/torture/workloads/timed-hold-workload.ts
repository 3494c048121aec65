/** Consumers with timed holds: they acknowledge, release, extend, or let the hold expire. */
import { setTimeout as pause } from 'node:timers/promises';
import { inspectQueue } from './queue-workload.ts';
import type { TortureWorkload, WorkloadContext } from './workload.ts';

const name = 'timed';
const readyMax = 100;
/** A hold may expire while its acknowledgement is in progress. */
const expected = ['RECEIPT_STALE'];

export const timedHoldWorkload: TortureWorkload = {
  name,
  setUp: (work) => work.ensureQueue({ name, shards: 2 }, { ordered: true }),
  start(work: WorkloadContext) {
    work.runSessionLoop(async (session, items) => {
      await work.waitWhileBacklogAbove(name, readyMax);
      for (const item of items.next(1 + work.random.below(5))) work.enqueue(session, name, item);
      await work.commit(session);
    });
    for (let i = 0; i < 3; i += 1) {
      work.runSessionLoop(async (session) => {
        const holdMs = 10 + work.random.below(60);
        const messages = await session.receive(name, {
          max: 1 + work.random.below(6),
          waitMs: 1_000,
          holdMs,
        });
        const receipts = messages.map((message) => message.receipt);
        if (receipts.length === 0) return;
        const choice = work.random.next();
        if (choice < 0.15) return; // the hold expires
        if (choice < 0.3) return session.release(name, receipts).catch(expectStale);
        if (choice < 0.4) {
          await session.extend(name, receipts, 200).catch(expectStale);
          await pause(5);
        }
        try {
          session.acknowledge(name, receipts);
        } catch (error) {
          expectStale(error);
          return session.rollback();
        }
        await work.commit(session, expected);
      });
    }
  },
  inspect: async (inspected) => [await inspectQueue(inspected, name)],
};

function expectStale(error: unknown): void {
  if (!expected.includes((error as { code?: string }).code ?? '')) throw error;
}
