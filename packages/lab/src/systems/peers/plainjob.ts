/**
 * plainjob, the SQLite job queue, at its best: its calls without its worker, which would check for scheduled jobs before
 * each job and sleep between polls. It sets `synchronous = NORMAL` itself; FULL is set afterwards.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { better, defineQueue, JobStatus } from 'plainjob';
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
    async openProducer() {
      return {
        async send(payloads) {
          const data = payloads.map((payload) => payload.toString('base64'));
          if (data.length === 1) queue.add(jobType, data[0]);
          else queue.addMany(jobType, data);
        },
      };
    },
    async consume({ consumers, deliveries }) {
      return startPulling({
        consumers,
        pauseMs: 1,
        async turn(consumer) {
          const job = queue.getAndMarkJobAsProcessing(jobType);
          if (job === undefined) return false;
          const { data } = queue.getJobById(job.id)!;
          const delivery = deliveries.delivered(Buffer.from(data, 'base64'), consumer);
          queue.markJobAsDone(job.id);
          deliveries.consumed([delivery], consumer);
          return true;
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
