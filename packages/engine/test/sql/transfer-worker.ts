/** Enqueues messages with rows and moves them to another queue, in several sessions, one of which uses queries. Reports the number of moved messages after each commit. */
import { openInstance } from '../../src/index.ts';

const instance = await openInstance({
  dir: process.argv[2]!,
  partitionMessagesMax: 8,
  writerReservationMsMax: 10_000,
});
if (instance.queues().length === 0) {
  await instance.createQueue({ name: 'todo' });
  await instance.createQueue({ name: 'done' });
}
const first = instance.openSession();
first.execute('CREATE TABLE IF NOT EXISTS made (item INTEGER PRIMARY KEY)');
first.execute('CREATE TABLE IF NOT EXISTS moved (item INTEGER PRIMARY KEY)');
first.execute('SELECT coalesce(max(item), 0) AS last FROM made');
first.execute('SELECT count(*) AS count FROM moved');
const { results } = await first.commit();
let last = Number(results[2]!.rows[0]!.last);
let moved = Number(results[3]!.rows[0]!.count);

async function work(usesQueries: boolean): Promise<void> {
  const session = instance.openSession();
  for (;;) {
    last += 1;
    session.enqueue('todo', { payload: String(last) });
    session.execute('INSERT INTO made VALUES (?)', [last]);
    await session.commit();
    const [message] = await session.dequeue('todo', { waitMs: 10_000 });
    const item = Number(message!.payload);
    if (usesQueries) {
      const { rows } = await session.query('SELECT 1 FROM moved WHERE item = ?', [item]);
      if (rows.length === 0) await session.query('INSERT INTO moved VALUES (?)', [item]);
    } else session.execute('INSERT INTO moved VALUES (?)', [item]);
    session.enqueue('done', { payload: message!.payload });
    await session.commit();
    moved += 1;
    process.send!(moved);
  }
}

await Promise.all([work(false), work(false), work(true)]);
