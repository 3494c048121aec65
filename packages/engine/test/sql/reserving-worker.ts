/** Dequeues a message, writes a row for it, stages another message, and then waits with the writer reserved. */
import { openInstance } from '../../src/index.ts';

const instance = await openInstance({ dir: process.argv[2]!, writerReservationMsMax: 10_000 });
await instance.createQueue({ name: 'todo' });
await instance.createQueue({ name: 'done' });
const session = instance.openSession();
session.execute('CREATE TABLE moved (item INTEGER PRIMARY KEY)');
session.enqueue('todo', { payload: '1' });
await session.commit();

const [message] = await session.dequeue('todo');
await session.query('INSERT INTO moved VALUES (?)', [Number(message!.payload)]);
session.enqueue('done', { payload: message!.payload });
process.send!((await session.query('SELECT item FROM moved')).rows);
