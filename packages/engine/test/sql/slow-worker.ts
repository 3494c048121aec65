/** Runs a statement that does not end, and reports the pid of its process once that has the file's lock. */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { openInstance } from '../../src/index.ts';

const instance = await openInstance({ dir: process.argv[2]!, writerReservationMsMax: 10_000 });
await instance.createQueue({ name: 'q' });
const session = instance.openSession();
session.execute('CREATE TABLE item (id INTEGER PRIMARY KEY)');
await session.commit();
await session.query('INSERT INTO item VALUES (1)'); // From here on the transaction is open.
const tables = Array.from({ length: 13 }, (_, index) => `a b${index}`);
void session.query(
  `WITH a(x) AS (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) SELECT count(*) FROM a, ${tables.join(', ')}`,
);
await wait(1); // By now the statement is sent.
const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ');
process.send!(children.map(Number));
