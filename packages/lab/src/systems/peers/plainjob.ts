/**
 * plainjob, the SQLite job queue, at its best: its calls without its worker, which would check for scheduled jobs before
 * each job and sleep between polls. It sets `synchronous = NORMAL` itself; FULL is set afterwards.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { better, defineQueue, JobStatus } from 'plainjob';
import { libraryCall } from '../../meters/load-waits.ts';
import type { OpenClient } from '../driver/driver.ts';
import { startPulling } from '../driver/pull-consumers.ts';

const jobType = 'message';
const quiet = { error() {}, warn() {}, info() {}, debug() {} };

export const open: OpenClient = async ({ dir, durability }) => {
  const file = new Database(join(dir, 'plainjob.db'));
  const queue = defineQueue({
    connection: better(file),
    logger: quiet,
    serializer: (data) => data as string,
  });
  file.pragma(`synchronous = ${durability}`);
  const stated = `PRAGMA synchronous = ${String(file.pragma('synchronous', { simple: true }))}`;
  return {
    stated,
    async openProducer(book) {
      const time = book.openSession();
      return {
        time,
        async send(payloads) {
          const data = payloads.map((payload) => payload.toString('base64'));
          time.begin(libraryCall);
          if (data.length === 1) queue.add(jobType, data[0]);
          else queue.addMany(jobType, data);
          time.end();
        },
      };
    },
    async consume({ consumers, deliveries, book }) {
      return startPulling({
        consumers,
        book,
        pauseMs: 1,
        async turn(consumer, time) {
          time.begin(libraryCall);
          const job = queue.getAndMarkJobAsProcessing(jobType);
          const data = job === undefined ? undefined : queue.getJobById(job.id)!.data;
          time.resume();
          if (job === undefined || data === undefined) return time.yield(false);
          const delivery = deliveries.delivered(Buffer.from(data, 'base64'), consumer);
          time.begin(libraryCall);
          queue.markJobAsDone(job.id);
          time.resume();
          deliveries.consumed([delivery], consumer);
          return time.yield(true);
        },
      });
    },
    async depth() {
      return [JobStatus.Pending, JobStatus.Processing].reduce(
        (sum, status) => sum + queue.countJobs({ status }),
        0,
      );
    },
    async close() {
      queue.close();
    },
  };
};
