/**
 * An instance, its producers and consumers and a conversion of their queue, all in one process as in an application or the server.
 * They append what they do to a file, which survives a kill. The process ends when the queue is sharded and empty.
 */
import { openSync, writeSync } from 'node:fs';
import { convertQueue, openInstance } from '../../src/index.ts';
import { QueueLoad } from './queue-load.ts';

const [dir = '', queue = '', name = '', notes = ''] = process.argv.slice(2);
const file = openSync(notes, 'a');
const instance = await openInstance({ dir });
const note = (what: string, payload: string) => void writeSync(file, `${what} ${payload}\n`);
const load = new QueueLoad({ instance, queue, name, note });
await convertQueue({ dir, queue, shards: 2 });
note('done', name);
// Then a few messages pass through the sharded queue.
await new Promise((resume) => setTimeout(resume, 20));
await load.endProducers();
await load.end();
await instance.close();
