/** BullMQ on Redis: enqueues with its bulk call, dequeues with its worker, which has no batch call. */
import { serverCall, waitingForMessages } from '../../meters/load-waits.ts';
import type { Delivery, OpenClient } from '../driver/driver.ts';
import { clientPackage } from './client-packages.ts';

interface Connection {
  config(get: 'GET', name: string): Promise<string[]>;
  disconnect(): void;
}
interface Job {
  id: string;
  data: string;
}
interface Queue {
  add(name: string, data: string): Promise<unknown>;
  addBulk(jobs: { name: string; data: string }[]): Promise<unknown>;
  getJobCounts(...states: string[]): Promise<Record<string, number>>;
  close(): Promise<void>;
}
interface Worker {
  on(event: 'completed', listener: (job: Job) => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}
interface Bull {
  Queue: new (
    name: string,
    options: { connection: Connection; defaultJobOptions: { removeOnComplete: boolean } },
  ) => Queue;
  Worker: new (
    name: string,
    process: (job: Job) => Promise<void>,
    options: { connection: Connection; concurrency: number },
  ) => Worker;
}
interface Ioredis {
  Redis: new (options: { path: string; maxRetriesPerRequest: null }) => Connection;
}

const name = 'lab';

export const open: OpenClient = async ({ endpoints: [endpoint] }) => {
  const { Queue, Worker } = clientPackage<Bull>('bullmq');
  const { Redis } = clientPackage<Ioredis>('ioredis');
  const connections: Connection[] = [];
  const connect = () => {
    const connection = new Redis({ path: endpoint!, maxRetriesPerRequest: null });
    connections.push(connection);
    return connection;
  };
  const control = connect();
  const [, appendOnly] = await control.config('GET', 'appendonly');
  const [, appendFsync] = await control.config('GET', 'appendfsync');
  const queue = new Queue(name, { connection: connect(), defaultJobOptions: { removeOnComplete: true } });
  return {
    stated: `appendonly ${appendOnly}, appendfsync ${appendFsync}`,
    async openProducer() {
      const own = new Queue(name, { connection: connect(), defaultJobOptions: { removeOnComplete: true } });
      return {
        async send(payloads) {
          const jobs = payloads.map((payload) => ({ name, data: payload.toString('base64') }));
          if (jobs.length === 1) await own.add(name, jobs[0]!.data);
          else await own.addBulk(jobs);
        },
      };
    },
    async consume({ consumers, deliveries, book }) {
      const underWay = new Map<string, Delivery>();
      // One session: the worker does not tell for which of its consumers it calls.
      const time = book.openSession();
      time.resume();
      const suspend = () => time.suspend(undefined, underWay.size > 0 ? serverCall : waitingForMessages);
      const worker = new Worker(
        name,
        async ({ id, data }) => {
          time.resume();
          underWay.set(id, deliveries.delivered(Buffer.from(data, 'base64'), 0));
          suspend();
        },
        { connection: connect(), concurrency: consumers },
      );
      worker.on('completed', ({ id }) => {
        time.resume();
        deliveries.consumed([underWay.get(id)!], 0);
        underWay.delete(id);
        suspend();
      });
      worker.on('error', (error) => {
        throw error;
      });
      suspend();
      await worker.waitUntilReady();
      return {
        async stop() {
          await worker.close();
          time.close();
        },
      };
    },
    async depth() {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized', 'failed');
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    async close() {
      for (const connection of connections) connection.disconnect();
    },
  };
};
