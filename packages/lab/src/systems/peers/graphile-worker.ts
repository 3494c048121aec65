/**
 * graphile-worker on PostgreSQL: enqueues with addJobs, dequeues with its runner. For transactions of several messages it
 * fetches through its local queue and completes in batches, which share a sync; its `job:complete` may precede that sync.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { serverCall, waitingForMessages } from '../../meters/load-waits.ts';
import type { Delivery, OpenClient } from '../driver/driver.ts';
import { clientPackage } from './client-packages.ts';
import { openPostgres, postgresAddress } from './postgres-client.ts';

interface Job {
  id: string;
  payload: { payload: string };
}
interface Pool {
  on(event: 'error', listener: (error: Error) => void): void;
  end(): Promise<void>;
}
interface Utils {
  migrate(): Promise<void>;
  addJob(task: string, payload: Job['payload']): Promise<unknown>;
  addJobs(specs: { identifier: string; payload: Job['payload'] }[]): Promise<unknown>;
  release(): Promise<void>;
}
interface Runner {
  events: { on(event: 'job:complete', listener: (event: { job: Job; error: unknown }) => void): void };
  promise: Promise<void>;
  stop(): Promise<void>;
}
interface WorkerPreset {
  concurrentJobs: number;
  pollInterval: number;
  localQueue?: { size: number };
  completeJobBatchDelay?: number;
}
interface Graphile {
  makeWorkerUtils(options: { pgPool: Pool; logger: unknown }): Promise<Utils>;
  run(options: {
    pgPool: Pool;
    logger: unknown;
    noHandleSignals: boolean;
    parsedCronItems: [];
    taskList: Record<string, (payload: Job['payload'], helpers: { job: Job }) => Promise<void>>;
    preset: { worker: WorkerPreset };
  }): Promise<Runner>;
  Logger: new (factory: () => () => void) => unknown;
}
interface Pg {
  Pool: new (options: ReturnType<typeof postgresAddress> & { max: number }) => Pool;
}

const task = 'lab';
const countJobs = 'SELECT count(*) FROM graphile_worker._private_jobs';

export const open: OpenClient = async ({ endpoints: [endpoint], enqueuers, dequeuers, createsQueue }) => {
  const { makeWorkerUtils, run, Logger } = clientPackage<Graphile>('graphile-worker');
  const { Pool } = clientPackage<Pg>('pg');
  const logger = new Logger(() => () => undefined);
  const pgPool = new Pool({ ...postgresAddress(endpoint!), max: Math.max(enqueuers, dequeuers) + 4 });
  pgPool.on('error', (error) => {
    throw error;
  });
  const utils = await makeWorkerUtils({ pgPool, logger });
  if (createsQueue) await utils.migrate();
  const { stated, count, close } = await openPostgres(endpoint!);
  return {
    stated,
    async openProducer() {
      return {
        async send(payloads) {
          const jobs = payloads.map((payload) => ({ payload: payload.toString('base64') }));
          if (jobs.length === 1) await utils.addJob(task, jobs[0]!);
          else await utils.addJobs(jobs.map((payload) => ({ identifier: task, payload })));
        },
      };
    },
    async consume({ consumers, operations, deliveries, book }) {
      const underWay = new Map<string, Delivery>();
      // One session: the runner does not tell for which of its consumers it calls.
      const time = book.openSession();
      time.resume();
      const suspend = () => time.suspend(undefined, underWay.size > 0 ? serverCall : waitingForMessages);
      suspend();
      const batching =
        operations > 1
          ? { localQueue: { size: Math.max(consumers, operations) }, completeJobBatchDelay: 0 }
          : {};
      const runner = await run({
        pgPool,
        logger,
        noHandleSignals: true,
        parsedCronItems: [],
        taskList: {
          async [task](payload, { job }) {
            time.resume();
            underWay.set(job.id, deliveries.delivered(Buffer.from(payload.payload, 'base64'), 0));
            suspend();
          },
        },
        preset: { worker: { concurrentJobs: consumers, pollInterval: 100, ...batching } },
      });
      runner.events.on('job:complete', ({ job, error }) => {
        if (error) throw error;
        time.resume();
        deliveries.consumed([underWay.get(job.id)!], 0);
        underWay.delete(job.id);
        suspend();
      });
      return {
        async stop() {
          await runner.stop();
          // Jobs reported as complete may not be deleted from the table yet.
          while ((await count(`${countJobs} WHERE locked_at IS NOT NULL`)) > 0) await pause(10);
          time.close();
        },
      };
    },
    depth: () => count(countJobs),
    async close() {
      await utils.release();
      await close();
      await pgPool.end();
    },
  };
};
