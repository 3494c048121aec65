/** Converts a queue in a process of its own, so that it can be killed. Prints `done` at the end. */
import { convertQueue } from '../../src/index.ts';

const [dir = '', queue = ''] = process.argv.slice(2);
const { stage } = await convertQueue({ dir, queue, shards: 2, cacheBytesMax: 2 ** 20, drainMsMax: 60_000 });
console.log(stage);
