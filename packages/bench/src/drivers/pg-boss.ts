/**
 * pg-boss on PostgreSQL with its bulk calls: insert, fetch a batch, complete a batch. Its worker does the same at its
 * polling interval of at least half a second; here a consumer that found nothing fetches again at once.
 */
import { type OpenClient, startPulling } from '@shardlab/lab';
import { peerPackage } from './peer-packages.ts';
import { connectPostgres, statedByPostgres } from './postgres.ts';

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

const queue = 'bench';
const pauseMs = 2;

export const open: OpenClient = async ({ endpoints: [endpoint], createsQueue, enqueuers, dequeuers }) => {
  const { PgBoss } = peerPackage<PgBossPackage>('pg-boss');
  const boss = new PgBoss({ ...connectPostgres(endpoint!), max: Math.max(enqueuers, dequeuers) + 2 });
  boss.on('error', (error) => {
    throw error;
  });
  await boss.start();
  if (createsQueue) await boss.createQueue(queue);
  const { stated, count, end } = await statedByPostgres(endpoint!);
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
    async consume({ consumers, operations, deliveries }) {
      return startPulling({
        consumers,
        pauseMs,
        async turn(consumer) {
          const jobs = await boss.fetch(queue, { batchSize: operations });
          if (jobs.length === 0) return false;
          const taken = jobs.map(({ data }) =>
            deliveries.delivered(Buffer.from(data.payload, 'base64'), consumer),
          );
          await boss.complete(
            queue,
            jobs.map(({ id }) => id),
          );
          deliveries.consumed(taken, consumer);
          return true;
        },
      });
    },
    depth: () => count(`SELECT count(*) FROM pgboss.job WHERE name = '${queue}' AND state < 'completed'`),
    async close() {
      await boss.stop({ graceful: false });
      await end();
    },
  };
};
