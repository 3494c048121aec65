/** Imported first by `index.ts`: refuses a Node that lacks what the engine needs, before any file of a queue is touched. */
import { QueueError } from './api/errors.ts';

// Of all that the engine uses it came last to Node 22, apart from `Atomics.pause`, for which there is a substitute. The build of the
// package checks the sources against the types of Node 22.19, so that nothing newer comes in.
if (typeof process.threadCpuUsage !== 'function') {
  const { node } = process.versions;
  throw new QueueError('NODE_UNSUPPORTED', {
    message: `@shardlab/engine needs Node 22.19 or a later 22, or Node 24 or later; this is Node ${node}`,
    details: { node },
  });
}
