/**
 * The elected writer of a folder's grouped unsharded queues: writes the batches of this process and of all that are connected
 * to it, as many at a time as there are, each group in one transaction with one sync. It runs on the session thread, at most
 * once in a turn of the event loop; what arrives during a sync is the next group.
 *
 * A process is the writer as long as it has the lock on `group-writer.db`, which the system releases when the process ends.
 */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { Ports } from '../model/ports.ts';
import { fromStorageFailure } from '../model/storage-failure.ts';
import { makePrivate } from '../storage/private-files.ts';
import type { FolderLock } from '../storage/sqlite/folder-lock.ts';
import { encodeFrame, FrameSplitter } from '../storage/threads/process-frames.ts';
import { UnshardedFile } from '../storage/unsharded/unsharded-file.ts';
import { type GroupAnswer, type WriteBatch, writeGroup } from '../storage/unsharded/write-group.ts';
import type { BatchAnswer, ClientMessage, WriterMessage } from './group-messages.ts';
import type { SharedFileLock } from './shared-file-lock.ts';

/** The sessions of the writer's own process. */
export interface LocalBatches {
  /** Takes the next batch to write; undefined if there is none. */
  take(): WriteBatch | undefined;
  onMessage(message: WriterMessage): void;
  /** Groups cannot be written, permanently or for now. */
  onFailed(error: unknown): void;
}

export interface GroupServerOptions {
  /** Path of the socket. */
  path: string;
  file: UnshardedFile;
  /** Held by this process until the server is closed. */
  election: FolderLock;
  /** The order among all that write to the file, for which a group is one write. */
  writeLock: SharedFileLock;
  local: LocalBatches;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

interface PendingBatch {
  batch: WriteBatch;
  /** Undefined: of this process. */
  client: Socket | undefined;
}

/** Milliseconds before a retry when a process without the write lock was writing. */
const busyRetryMs = 1;

export class GroupServer {
  readonly #options: GroupServerOptions;
  readonly #clients = new Set<Socket>();
  /** Clients that are not reading at the moment: they are notified once they read. */
  readonly #unnotified = new Set<Socket>();
  readonly #server: Server;
  #pending: PendingBatch[] = [];
  #lastWereClaims = false;
  #scheduled = false;
  #closed = false;

  private constructor(options: GroupServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#onClient(socket));
  }

  /** Resolves once other processes can connect. */
  static async start(options: GroupServerOptions): Promise<GroupServer> {
    const server = new GroupServer(options);
    rmSync(options.path, { force: true }); // left by a dead process
    await new Promise<void>((listening, failed) => {
      server.#server.once('error', failed);
      server.#server.listen(options.path, listening);
    });
    server.#server.unref();
    makePrivate(options.path);
    return server;
  }

  #onClient(socket: Socket): void {
    const frames = new FrameSplitter();
    this.#clients.add(socket);
    socket.unref();
    socket.on('data', (bytes: Buffer) => {
      for (const message of frames.push(bytes))
        this.#pending.push({ batch: message as ClientMessage, client: socket });
      this.request();
    });
    socket.on('drain', () => {
      if (this.#unnotified.delete(socket)) this.#send(socket, { readyQueues: null });
    });
    socket.on('error', () => undefined); // 'close' follows
    socket.on('close', () => {
      this.#clients.delete(socket);
      this.#unnotified.delete(socket);
      // It sends them again over its next connection, or has ended.
      this.#pending = this.#pending.filter(({ client }) => client !== socket);
    });
  }

  /** There is something to write: runs a group in the next turn of the event loop. */
  request(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    this.#options.writeLock
      .run('commit', () => {
        this.#scheduled = false;
        if (!this.#closed) this.#runGroup();
      })
      .catch((error: unknown) => {
        this.#scheduled = false;
        if (UnshardedFile.isBusy(error))
          this.#options.ports.timers.deadline(busyRetryMs, () => this.request());
        else this.#onLockFailed(error);
      });
  }

  /**
   * Nothing was written. The other processes reconnect and send their batches again, and by then the lock may be available. The
   * calls of this process are rejected, so a batch of theirs must not be written later.
   */
  #onLockFailed(error: unknown): void {
    this.#pending = [];
    for (const socket of this.#clients) socket.destroy();
    this.#options.local.onFailed(error);
  }

  #runGroup(): void {
    const { file, local, ports } = this.#options;
    const own = local.take();
    if (own !== undefined) this.#pending.push({ batch: own, client: undefined });
    const claims = this.#pending.filter(({ batch }) => isClaims(batch));
    const others = this.#pending.filter(({ batch }) => !isClaims(batch));
    const claimsNow = claims.length > 0 && !(this.#lastWereClaims && others.length > 0);
    const pending = claimsNow ? claims : others;
    if (pending.length === 0) return;
    const startedAt = ports.clock.monotonicMs();
    const group = writeGroup(
      file,
      pending.map(({ batch }) => batch),
    );
    this.#pending = claimsNow ? others : claims;
    this.#lastWereClaims = claimsNow;
    if (this.#pending.length > 0) this.request();
    const writeMs = ports.clock.monotonicMs() - startedAt;
    const failed = group.answers.flat().find(({ failure }) => failure?.code === 'INSTANCE_FAILED')?.failure;
    if (failed === undefined) this.#answer(pending, group, writeMs);
    else {
      // The content of the disk is unknown. The next writer reads it, and writes what is missing.
      this.close();
      local.onFailed(fromStorageFailure(failed));
    }
  }

  #answer(pending: readonly PendingBatch[], { answers, readyQueues }: GroupAnswer, writeMs: number): void {
    const byClient = new Map<Socket | undefined, BatchAnswer>();
    for (const [index, { batch, client }] of pending.entries())
      byClient.set(client, { number: batch.number, answers: answers[index]!, writeMs });
    for (const client of [undefined, ...this.#clients]) {
      const answer = byClient.get(client);
      if (answer === undefined && readyQueues.length === 0) continue;
      const message: WriterMessage = answer === undefined ? { readyQueues } : { answer, readyQueues };
      if (client === undefined) this.#options.local.onMessage(message);
      else if (answer === undefined && client.writableNeedDrain) this.#unnotified.add(client);
      else this.#send(client, message);
    }
  }

  /** Messages may have become ready in any queue. */
  announceAll(): void {
    for (const client of this.#clients) {
      if (client.writableNeedDrain) this.#unnotified.add(client);
      else this.#send(client, { readyQueues: null });
    }
  }

  #send(client: Socket, message: WriterMessage): void {
    client.write(encodeFrame(message));
  }

  /** From now on another process can become the writer. Unanswered batches are sent to it again. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#server.close();
    for (const socket of this.#clients) socket.destroy();
    this.#options.election.release();
  }
}

/** Claims come in batches of their own, and go in groups of their own, in turn with the others (`grouped-writes.ts`). */
function isClaims({ operations }: WriteBatch): boolean {
  return operations[0]?.kind === 'claim';
}
