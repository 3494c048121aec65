/**
 * A fair lock between the processes that write to one file. SQLite's own waiting starves (measured: 75,006 rows/s for one
 * process, 4 for the other), so writers queue here first: one process keeps the order, the others ask it over a
 * Unix-domain socket. The lock stays where it is until someone else asks, so a lone process never pays for it.
 *
 * Correctness does not rest on it: every write is a BEGIN IMMEDIATE, and if the process that keeps the order dies,
 * another takes its place while SQLite still refuses a second writer.
 */
import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { QueueError } from '../core/errors.ts';
import type { FileLock, WriteKind } from '../instance/unsharded-engine.ts';
import { electIn } from '../storage/election.ts';
import { type LockClient, LockOrder } from './lock-order.ts';
import { socketPath } from './socket-path.ts';

/** A holder that does not answer a recall for this long has stopped: the lock goes on without it. */
const revokeMs = 1_000;

/** Without an answer for this long, a call no longer waits for its turn. */
const patienceMs = 3_000;

/** After it was recalled, a holder may still serve the calls that waited before, for this long. */
const quantumMs = 4;

const ask = 'A';
const release = 'R';
const grant = 'G';
const recall = 'C';

export interface WriteLockOptions {
  dir: string;
  onWaited(ms: number): void;
}

interface Call {
  run(): void;
  reject(error: QueueError): void;
  since: number;
}

interface LockLink {
  send(message: string): void;
  /** While calls wait, the process must not end for want of anything else to do. */
  keepAlive(wanted: boolean): void;
  close(): void;
}

export class WriteLock implements FileLock {
  readonly #options: WriteLockOptions;
  readonly #path: string;
  readonly #calls: Record<WriteKind, Call[]> = { 'hand-out': [], commit: [] };
  /** The last turn was one of hand-outs. */
  #handedOut = false;
  #link: LockLink | undefined;
  #linking: Promise<LockLink> | undefined;
  #held = false;
  #scheduled = false;
  #asked = false;
  #recalledAt: number | undefined;
  #patience: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: WriteLockOptions) {
    this.#options = options;
    this.#path = socketPath(options.dir, 'write-lock.sock');
  }

  /** Runs `work`, synchronous and short, while this process has the lock. */
  run<T>(kind: WriteKind, work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new QueueError('INSTANCE_CLOSED'));
    return new Promise((resolveCall, reject) => {
      const since = performance.now();
      this.#calls[kind].push({
        since,
        reject,
        run: () => {
          try {
            resolveCall(work());
          } catch (error) {
            reject(error);
          }
        },
      });
      this.#schedule();
    });
  }

  get #waiting(): number {
    return this.#calls['hand-out'].length + this.#calls.commit.length;
  }

  /** Calls are served once a turn of the event loop: sessions that only ever write would let nothing else run. */
  #schedule(): void {
    this.#link?.keepAlive(true);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#serve();
    });
  }

  /**
   * Hand-outs and commits have turns of their own, so that those who were handed messages can commit them in the next
   * one. A dequeuer writes twice for an enqueuer's once: in one line it would fall behind by half.
   */
  #serve(): void {
    if (!this.#held) {
      if (this.#waiting > 0) void this.#askForIt();
      return;
    }
    const { 'hand-out': handOuts, commit: commits } = this.#calls;
    const recalled = this.#recalledAt !== undefined;
    const handsOut = handOuts.length > 0 && !(this.#handedOut && commits.length > 0);
    if (handsOut || recalled) this.#serveAll(handOuts);
    if (!handsOut || recalled) this.#serveAll(commits);
    this.#handedOut = handsOut;
    if (this.#waiting === 0) this.#link?.keepAlive(false);
    else if (!recalled) this.#schedule();
    if (recalled) this.#letGo();
  }

  #serveAll(calls: Call[]): void {
    for (let left = calls.length; left > 0; left -= 1) {
      const call = calls[0]!;
      if (this.#recalledAt !== undefined) {
        const late = performance.now() - this.#recalledAt > quantumMs;
        if (late || call.since > this.#recalledAt) break;
      }
      calls.shift();
      // Behind another process, or behind other sessions of this one: both wait for the one lock.
      this.#options.onWaited(performance.now() - call.since);
      call.run();
    }
  }

  #letGo(): void {
    this.#held = false;
    this.#recalledAt = undefined;
    this.#link?.send(release);
    if (this.#waiting > 0) void this.#askForIt();
  }

  /** The process that keeps the order has stopped: SQLite alone decides until it answers again. */
  #goWithout(): void {
    if (this.#held || this.#closed || this.#waiting === 0) return;
    this.#held = true;
    this.#serve();
  }

  async #askForIt(): Promise<void> {
    if (this.#asked || this.#held || this.#closed) return;
    if (this.#link === undefined) {
      this.#linking ??= this.#connectOrServe();
      try {
        this.#link = await this.#linking;
      } catch (error) {
        const failure = new QueueError('STORAGE_FAILED', {
          sentence: `The write lock at ${this.#path} cannot be reached: ${String(error)}`,
          cause: error,
        });
        this.#rejectAll(failure);
        return;
      } finally {
        this.#linking = undefined;
      }
      if (this.#asked || this.#held || this.#closed) return;
    }
    this.#asked = true;
    this.#link.keepAlive(this.#waiting > 0);
    clearTimeout(this.#patience);
    this.#patience = setTimeout(() => this.#goWithout(), patienceMs);
    this.#link.send(ask);
  }

  #onMessages(messages: string): void {
    for (const message of messages) {
      if (message === grant) {
        clearTimeout(this.#patience);
        this.#asked = false;
        this.#held = true;
        this.#serve();
      } else if (message === recall) {
        this.#recalledAt = performance.now();
        this.#serve();
      }
    }
  }

  #onLinkLost(): void {
    clearTimeout(this.#patience);
    this.#link = undefined;
    this.#held = false;
    this.#asked = false;
    this.#recalledAt = undefined;
    if (!this.#closed && this.#waiting > 0) void this.#askForIt();
  }

  async #connectOrServe(): Promise<LockLink> {
    const before = await this.#connect();
    if (before !== undefined) return before;
    return electIn(this.#options.dir, async () => (await this.#connect()) ?? (await this.#becomeServer()));
  }

  async #connect(): Promise<LockLink | undefined> {
    const socket = await new Promise<Socket | undefined>((resolveSocket) => {
      const attempt = connect(this.#path);
      attempt.once('connect', () => resolveSocket(attempt));
      attempt.once('error', () => resolveSocket(undefined));
    });
    if (socket === undefined) return undefined;
    socket.setEncoding('latin1');
    socket.on('data', (messages: string) => this.#onMessages(messages));
    socket.on('error', () => undefined); // 'close' follows
    socket.on('close', () => this.#onLinkLost());
    return {
      send: (message) => void socket.write(message),
      keepAlive: (wanted) => void (wanted ? socket.ref() : socket.unref()),
      close: () => void socket.destroy(),
    };
  }

  async #becomeServer(): Promise<LockLink> {
    rmSync(this.#path, { force: true }); // left by a process that died: nobody answers on it
    const order = new LockOrder();
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      serveClient(socket, order);
      socket.once('close', () => sockets.delete(socket));
    });
    await new Promise<void>((listening, failed) => {
      server.once('error', failed);
      server.listen(this.#path, listening);
    });
    const own: LockClient = { grant: () => this.#onMessages(grant), recall: () => this.#onMessages(recall) };
    return {
      send: (message) => (message === ask ? order.ask(own) : order.release(own)),
      keepAlive: (wanted) => void (wanted ? server.ref() : server.unref()),
      close: () => {
        server.close();
        for (const socket of sockets) socket.destroy(); // they look for another that keeps the order
      },
    };
  }

  #rejectAll(error: QueueError): void {
    for (const calls of Object.values(this.#calls)) for (const call of calls.splice(0)) call.reject(error);
  }

  /** Calls that still wait are rejected. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#patience);
    this.#rejectAll(new QueueError('INSTANCE_CLOSED'));
    const link = (await this.#linking?.catch(() => undefined)) ?? this.#link;
    link?.close();
  }
}

/** One client of the process that keeps the order. */
function serveClient(socket: Socket, order: LockOrder): void {
  let revoking: NodeJS.Timeout | undefined;
  const client: LockClient = {
    grant: () => void socket.write(grant),
    recall: () => {
      socket.write(recall);
      // Safe: should the holder wake up and still write, SQLite lets only one of them.
      revoking = setTimeout(() => order.release(client), revokeMs);
    },
  };
  socket.setEncoding('latin1');
  socket.on('data', (messages: string) => {
    for (const message of messages) {
      if (message === ask) order.ask(client);
      else if (message === release) {
        clearTimeout(revoking);
        order.release(client);
      }
    }
  });
  socket.on('error', () => undefined); // 'close' follows
  socket.on('close', () => {
    clearTimeout(revoking);
    order.leave(client);
  });
  socket.unref();
}
