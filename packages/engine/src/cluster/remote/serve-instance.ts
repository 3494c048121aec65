/** Serves an instance of this process to clients in others, over a Unix-domain socket. */
import { chmodSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import { InlineInstance } from '../../instance/inline-instance.ts';
import type { Instance } from '../../types.ts';
import { SocketInterconnect } from '../interconnect/socket-interconnect.ts';
import { socketPath } from '../socket-path.ts';
import { ServerConnection } from './server-connection.ts';

export interface ServeOptions {
  /** Where to listen; by default `instance-<number>.sock` in the folder of the instance. */
  path?: string;
  /**
   * Without a call to dequeue for this long a queue has no consumer on this instance, and its messages may go to others
   * where some wait; milliseconds, 1 to 60,000, default 1,000.
   */
  forwardIdleMs?: number;
}

export interface ServedInstance {
  readonly path: string;
  /** Open connections. */
  readonly connections: number;
  /** Ends all connections, after the commits under way; their sessions roll back. The instance stays open. */
  close(): Promise<void>;
}

export function instanceSocketPath(dir: string, instance: number): string {
  return socketPath(dir, `instance-${instance}.sock`);
}

/**
 * Returns once clients can connect. Only the user that the process runs as may. A socket that a dead process left is
 * replaced. Throws `INSTANCE_IN_USE` if somebody answers there.
 */
export async function serveInstance(instance: Instance, options: ServeOptions = {}): Promise<ServedInstance> {
  if (!(instance instanceof InlineInstance)) {
    throw new QueueError('OPTIONS_INVALID', {
      sentence: 'Only an instance that is open in this process is served',
    });
  }
  const { forwardIdleMs = limits.forwardIdleMs } = options;
  if (!Number.isInteger(forwardIdleMs) || forwardIdleMs < 1 || forwardIdleMs > limits.forwardIdleMsMax) {
    throw new QueueError('OPTIONS_INVALID', {
      sentence: `forwardIdleMs must be 1 to ${limits.forwardIdleMsMax}`,
    });
  }
  const path = options.path ?? instanceSocketPath(instance.dir, instance.id);
  if (await answers(path)) {
    throw new QueueError('INSTANCE_IN_USE', {
      sentence: `Another process serves at ${path}`,
      details: { path },
    });
  }
  instance.recoverOutcomes();
  const connections = new Set<ServerConnection>();
  const server = createServer((socket) => {
    const connection = new ServerConnection(socket, instance);
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  });
  server.maxConnections = limits.connectionsMax;
  const inode = await listen(server, path);
  const interconnect = new SocketInterconnect(instance, {
    pathOf: (id) => instanceSocketPath(instance.dir, id),
    idleMs: forwardIdleMs,
  });
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()));
  return {
    path,
    get connections() {
      return connections.size;
    },
    close: async () => {
      if (inodeOf(path) === inode) rmSync(path, { force: true }); // else it is the next host's
      await interconnect.close();
      server.close();
      await Promise.all([...connections].map((connection) => connection.end()));
      await ended;
    },
  };
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const attempt = connect(path);
    attempt.once('connect', () => {
      attempt.destroy();
      resolve(true);
    });
    attempt.once('error', () => resolve(false));
  });
}

/**
 * The socket is its user's alone from the moment that it exists: the mask is in force while it is made. It is made under a
 * name of its own and moved into place, since a server removes the name that it was given when it closes: by then another
 * process may serve at `path`. Returns what tells this socket from that one.
 */
async function listen(server: Server, path: string): Promise<number> {
  const ownPath = `${path}.new`;
  rmSync(ownPath, { force: true });
  const before = isMainThread ? process.umask(0o177) : undefined; // a thread may not change the process's mask
  const listening = new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  try {
    server.listen(ownPath);
  } finally {
    if (before !== undefined) process.umask(before);
  }
  try {
    await listening;
    chmodSync(ownPath, 0o600);
    const inode = inodeOf(ownPath);
    renameSync(ownPath, path);
    return inode;
  } catch (error) {
    throw new QueueError('STORAGE_READ_ONLY', {
      sentence: `The socket ${path} cannot be made`,
      details: { path },
      cause: error,
    });
  }
}

function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}
