/** Serves an instance to clients, and connects it to the other instances of its cluster for forwarding. */
import { QueueError } from '../api/errors.ts';
import type { Instance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import { assertFields, assertName, fieldsOf } from '../model/call-arguments.ts';
import { nodePorts } from '../node-ports.ts';
import { listenForClients, type ServedInstance } from '../server/serve-instance.ts';
import { instanceSocketPath } from '../storage/socket-path.ts';
import { SocketInterconnect } from './interconnect/socket-interconnect.ts';

export interface ServeOptions {
  /** Where to listen; by default `instance-<number>.sock` in the folder of the instance. */
  path?: string;
  /**
   * A queue without a dequeue call for this long has no consumer on this instance; its messages may then be forwarded to
   * instances where calls wait. Milliseconds, 1 to 60,000, default 1,000.
   */
  forwardIdleMs?: number;
}

const serveFields = fieldsOf<ServeOptions>('serveInstance', { path: 'string', forwardIdleMs: 'number' });

/**
 * Returns once clients can connect. Only the user that the process runs as may connect. Throws `INSTANCE_IN_USE` if
 * another process listens at the path, and `OPTIONS_INVALID`.
 */
export async function serveInstance(instance: Instance, options: ServeOptions = {}): Promise<ServedInstance> {
  assertFields(options, serveFields);
  if (options.path !== undefined) assertName('path', options.path);
  const { forwardIdleMs = limits.forwardIdleMs } = options;
  if (!Number.isInteger(forwardIdleMs) || forwardIdleMs < 1 || forwardIdleMs > limits.forwardIdleMsMax) {
    throw new QueueError('OPTIONS_INVALID', {
      message: `forwardIdleMs must be 1 to ${limits.forwardIdleMsMax}`,
    });
  }
  return listenForClients(instance, {
    ...(options.path !== undefined && { path: options.path }),
    ports: nodePorts,
    connectPeers: (local) =>
      new SocketInterconnect(local, {
        pathOf: (peer) => instanceSocketPath(local.dir, peer),
        idleMs: forwardIdleMs,
        ports: nodePorts,
      }),
  });
}
