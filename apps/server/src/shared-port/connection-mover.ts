/**
 * The server's port where instances have processes of their own. A connection that begins with a call that moves messages
 * (`queue-calls.ts`) is moved to one of those processes, in turn: from then on this process only copies its bytes, and HTTP,
 * JSON, validation and the queue are that one's work. All other connections stay, so a process that is killed or suspended
 * breaks or delays no page of the dashboard and no stream.
 */
import { rmSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import type { ClusterService } from '../cluster/cluster-service.ts';
import { limits } from '../limits.ts';
import {
  connectAs,
  instanceHttpPath,
  introductionOf,
  readIntroduction,
  serverSocketPath,
  tellClosing,
} from './introduction.ts';
import { beginsQueueCall } from './queue-calls.ts';
import { takeListener } from './take-listener.ts';

export interface ConnectionMoverOptions {
  server: HttpServer;
  /** Whether the server speaks HTTPS: what is moved is the decrypted connection. */
  tls: boolean;
  cluster: Pick<ClusterService, 'dir' | 'hasProcesses' | 'processes'>;
}

export class ConnectionMover {
  readonly #options: ConnectionMoverOptions;
  /** Has this process answer the connection. */
  readonly #answer: (socket: Socket) => void;
  /** Connections that another process answers. */
  readonly #moved = new Set<Socket>();
  /** Gets what the processes of instances pass on (`pass-on.ts`). */
  #passedOn: Promise<Server> | undefined;
  #turn = 0;
  #closing = false;

  /** Starts deciding about each new connection. */
  constructor(options: ConnectionMoverOptions) {
    const { server, tls } = options;
    this.#options = options;
    const event = tls ? 'secureConnection' : 'connection';
    this.#answer = takeListener<[Socket]>(server, event);
    server.on(event, (socket: Socket) => this.#onConnection(socket));
  }

  #onConnection(socket: Socket): void {
    if (socket.destroyed) return; // one too many of its client
    if (this.#closing || !this.#options.cluster.hasProcesses) this.#answer(socket);
    else this.#awaitFirstBytes(socket);
  }

  /** None while the files of the cluster cannot be read. */
  #processes(which?: { responsive: boolean }): number[] {
    try {
      return this.#options.cluster.processes(which);
    } catch {
      return [];
    }
  }

  /** A client that says nothing for a while stays, so that the server's own timeouts apply to it. */
  #awaitFirstBytes(socket: Socket): void {
    const stopWaiting = () => {
      clearTimeout(silent);
      socket.off('data', onBytes).off('end', onEnd).off('close', stopWaiting).pause();
    };
    const onBytes = (bytes: Buffer) => {
      stopWaiting();
      if (beginsQueueCall(bytes)) void this.#move(socket, bytes);
      else this.#keep(socket, bytes);
    };
    const onEnd = () => {
      stopWaiting();
      socket.destroy();
    };
    const silent = setTimeout(() => {
      stopWaiting();
      this.#keep(socket);
    }, limits.firstBytesMs);
    socket.on('error', () => undefined); // reported by 'close'
    socket.on('data', onBytes).on('end', onEnd).on('close', stopWaiting);
  }

  #keep(socket: Socket, bytes?: Buffer): void {
    if (bytes !== undefined) socket.unshift(bytes);
    this.#answer(socket);
    socket.resume();
  }

  async #move(socket: Socket, bytes: Buffer): Promise<void> {
    const other = await this.#connectInstance(socket);
    if (other === undefined) {
      this.#keep(socket, bytes);
      return;
    }
    if (socket.destroyed) {
      other.destroy();
      return;
    }
    this.#moved.add(socket);
    socket.once('close', () => {
      this.#moved.delete(socket);
      other.destroy();
    });
    // Bytes that the process has sent before are written first.
    for (const ending of ['end', 'close']) other.once(ending, () => socket.destroySoon());
    other.write(bytes);
    socket.pipe(other).pipe(socket);
  }

  /** The first of them that answers; undefined if none does. */
  async #connectInstance(client: Socket): Promise<Socket | undefined> {
    const { dir } = this.#options.cluster;
    try {
      await this.#listenForPassedOn();
    } catch {
      return undefined;
    }
    const processes = this.#processes({ responsive: true });
    this.#turn += 1;
    for (let at = 0; at < processes.length; at += 1) {
      const instance = processes[(this.#turn + at) % processes.length]!;
      const socket = connectAs(introductionOf(client), instanceHttpPath(dir, instance));
      if (await isConnected(socket)) return socket;
    }
    return undefined;
  }

  #listenForPassedOn(): Promise<Server> {
    this.#passedOn ??= listen(serverSocketPath(this.#options.cluster.dir), (socket) =>
      readIntroduction(socket, {
        onClient: () => {
          this.#answer(socket);
          socket.resume();
        },
      }),
    ).catch((error: unknown) => {
      this.#passedOn = undefined; // tried again with the next connection
      throw error;
    });
    return this.#passedOn;
  }

  /** The processes answer what is in progress and end their connections; what is left after `graceMs` is closed. */
  close(graceMs: number): void {
    if (this.#closing) return;
    this.#closing = true;
    for (const instance of this.#processes())
      tellClosing(instanceHttpPath(this.#options.cluster.dir, instance));
    this.#passedOn?.then(
      (server) => server.close(),
      () => undefined,
    );
    const timer = setTimeout(() => {
      for (const socket of this.#moved) socket.destroy();
    }, graceMs).unref();
    this.#options.server.once('close', () => clearTimeout(timer));
  }
}

function isConnected(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    socket.on('error', () => resolve(false)); // also later: then 'close' follows
    socket.once('connect', () => resolve(true));
  });
}

/** A file that a dead process left is replaced: the folder has one server at a time. */
function listen(path: string, onConnection: (socket: Socket) => void): Promise<Server> {
  rmSync(path, { force: true });
  const server = createServer({ allowHalfOpen: true }, onConnection);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve(server));
  });
}
