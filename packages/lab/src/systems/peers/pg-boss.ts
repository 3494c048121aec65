/**
 * pg-boss on PostgreSQL with its bulk calls: insert, fetch a batch, complete a batch. Its worker does the same at its
 * polling interval of at least half a second; here a consumer that found nothing fetches again at once.
 */
import { serverCall } from '../../meters/load-waits.ts';
import type { OpenClient } from '../driver/driver.ts';
import { startPulling } from '../driver/pull-consumers.ts';
import { clientPackage } from './client-packages.ts';
import { openPostgres, postgresAddress } from './postgres-client.ts';

interface Job {
  id: string;
  data: { payload: string };
}
interface PgBoss {
  on(event: 'error', listener: (error: Error) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string): Promise<void>;
  insert(name: string, jobs: { data: Job['data'] }[]): Promise<unknown>;
  fetch(name: string, options: { batchSize: number }): Promise<Job[]>;
  complete(name: string, ids: string[]): Promise<unknown>;
  stop(options: { graceful: boolean }): Promise<void>;
}
interface PgBossPackage {
  PgBoss: new (options: { host: string; user: string; database: string; max: number }) => PgBoss;
}

const queue = 'lab';
const pauseMs = 2;

export const open: OpenClient = async ({ endpoints: [endpoint], createsQueue, enqueuers, dequeuers }) => {
  const { PgBoss } = clientPackage<PgBossPackage>('pg-boss');
  const boss = new PgBoss({ ...postgresAddress(endpoint!), max: Math.max(enqueuers, dequeuers) + 2 });
  boss.on('error', (error) => {
    throw error;
  });
  await boss.start();
  if (createsQueue) await boss.createQueue(queue);
  const { stated, count, close } = await openPostgres(endpoint!);
  return {
    stated,
    async openProducer() {
      return {
        async send(payloads) {
          const jobs = payloads.map((payload) => ({ data: { payload: payload.toString('base64') } }));
          await boss.insert(queue, jobs);
        },
      };
    },
    async consume({ consumers, operations, deliveries, book }) {
      return startPulling({
        consumers,
        book,
        pauseMs,
        async turn(consumer, time) {
          const jobs = await time.suspend(boss.fetch(queue, { batchSize: operations }), serverCall);
          time.resume();
          if (jobs.length === 0) return time.yield(false);
          const taken = jobs.map(({ data }) =>
            deliveries.delivered(Buffer.from(data.payload, 'base64'), consumer),
          );
          const ids = jobs.map(({ id }) => id);
          await time.suspend(boss.complete(queue, ids), serverCall);
          time.resume();
          deliveries.consumed(taken, consumer);
          return time.yield(true);
        },
      });
    },
    depth: () => count(`SELECT count(*) FROM pgboss.job WHERE name = '${queue}' AND state < 'completed'`),
    async close() {
      await boss.stop({ graceful: false });
      await close();
    },
  };
};
