/**
 * Makes one step after the other, each a commit: `plain`, a message; `statement`, a message and a row in one transaction with statements;
 * `query`, the same with a query; `stream`, as `statement` with a streamed payload of 1 MiB; `apply`, which waits until the tables have everything. Ends with SIGKILL in the turn of the last answer.
 */
import { limits } from '../../src/api/limits.ts';
import { openInstance } from '../../src/index.ts';
import { bytesOf } from '../streams/payloads.ts';

const [, , dir, first, ...steps] = process.argv;
// Samples are groups too.
const instance = await openInstance({
  dir: dir!,
  sampleIntervalMs: limits.sampleMsMax,
  writerReservationMsMax: 10_000,
});
if (instance.queues().length === 0) await instance.createQueue({ name: 'q' });
const session = instance.openSession();
const createSql = 'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY)';
const insertSql = 'INSERT INTO item VALUES (?)';

for (const [index, step] of steps.entries()) {
  const id = Number(first) + index;
  if (step === 'apply') {
    await instance.checkpoint();
    continue;
  }
  const payload = `${id} ${step}`;
  if (step === 'stream')
    await session.enqueueStream('q', { payload: bytesOf(id, 2 ** 20), correlationId: payload });
  else session.enqueue('q', { payload });
  if (step === 'statement' || step === 'stream') {
    session.execute(createSql);
    session.execute(insertSql, [id]);
  } else if (step === 'query') {
    await session.query(createSql);
    await session.query(insertSql, [id]);
  }
  await session.commit();
}
process.kill(process.pid, 'SIGKILL');
