/** Serves an instance of this process to clients in other processes, over a Unix-domain socket. */
import { chmodSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import { QueueError } from '../api/errors.ts';
import type { Instance } from '../api/instance.ts';
import { limits } from '../api/limits.ts';
import type { InstancePorts } from '../model/ports.ts';
import { LocalInstance } from '../runtime/local-instance.ts';
import { instanceSocketPath } from '../storage/socket-path.ts';
import { ServerConnection } from './server-connection.ts';

/** Connections past the limit that are told so at a time. The system ends further ones without a word. */
const refusedConnectionsMax = 64;

export interface ServerOptions {
  /** Where to listen; by default `instance-<number>.sock` in the folder of the instance. */
  path?: string;
  ports: InstancePorts;
  /** Connects the served instance to the other instances of its cluster. */
  connectPeers?(instance: LocalInstance): { close(): Promise<void> };
}

export interface ServedInstance {
  readonly path: string;
  /** Number of open connections. */
  readonly connections: number;
  /**
   * Finishes the commits under way, rolls back all sessions and ends the connections. The instance stays open; its own close does
   * the same first.
   */
  close(): Promise<void>;
}

/**
 * Returns once clients can connect. Only the user that the process runs as may connect. A socket file that a dead process
 * left is replaced. Throws `INSTANCE_IN_USE` if another process listens at the path.
 */
export async function listenForClients(instance: Instance, options: ServerOptions): Promise<ServedInstance> {
  if (!(instance instanceof LocalInstance)) {
    throw new QueueError('OPTIONS_INVALID', {
      message: 'Only an instance that is open in this process can be served',
    });
  }
  const { ports, connectPeers } = options;
  const path = options.path ?? instanceSocketPath(instance.dir, instance.id);
  if (await isListening(path)) {
    throw new QueueError('INSTANCE_IN_USE', {
      message: `Another process serves at ${path}`,
      details: { path },
    });
  }
  instance.recoverOutcomes();
  const connections = new Set<ServerConnection>();
  const refused = new Set<ServerConnection>();
  const server = createServer((socket) => {
    const { connectionsMax } = limits;
    const isFull = connections.size >= connectionsMax;
    const refusal = isFull
      ? new QueueError('INSTANCE_CONNECTIONS_FULL', { details: { connectionsMax } })
      : undefined;
    const connection = new ServerConnection(socket, instance, ports, refusal);
    const group = isFull ? refused : connections;
    group.add(connection);
    const onChanged = () => {
      instance.hasClients = connections.size > 0;
    };
    onChanged();
    socket.once('close', () => {
      group.delete(connection);
      onChanged();
    });
  });
  server.maxConnections = limits.connectionsMax + refusedConnectionsMax;
  const inode = await listen(server, path);
  const peers = connectPeers?.(instance);
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()));
  const close = async () => {
    if (inodeOf(path) === inode) rmSync(path, { force: true }); // another inode is the next host's socket
    await peers?.close();
    server.close();
    await Promise.all([...connections, ...refused].map((connection) => connection.end()));
    await ended;
    withdraw();
  };
  let closing: Promise<void> | undefined;
  const closeOnce = () => {
    closing ??= close();
    return closing;
  };
  const withdraw = instance.closeBefore(closeOnce);
  return {
    path,
    get connections() {
      return connections.size;
    },
    close: closeOnce,
  };
}

function isListening(path: string): Promise<boolean> {
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
 * Listens at `path` and returns the socket's inode. The process's umask is set while the socket is created, so that no
 * other user can connect even for a moment. The socket is created under another name and then renamed, because a server
 * that closes deletes the name it listened on, and by then the next host may serve at `path`.
 */
async function listen(server: Server, path: string): Promise<number> {
  const ownPath = `${path}.new`;
  rmSync(ownPath, { force: true });
  const before = isMainThread ? process.umask(0o177) : undefined; // a worker thread cannot change the umask
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
      message: `The socket ${path} cannot be created`,
      details: { path },
      cause: error,
    });
  }
}

function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}
