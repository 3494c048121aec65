/**
 * A fair lock between the processes that write to one file. SQLite's own waiting starves writers (measured: 75,006 rows/s
 * for one process, 4 for the other), so they queue here first. One process serves the queue, and the others ask it over a
 * Unix-domain socket. A holder keeps the lock until someone else asks, so a lone process pays nothing.
 *
 * Correctness does not depend on it: every write is a BEGIN IMMEDIATE, and if the serving process dies another takes its
 * place while SQLite still refuses a second writer.
 */
import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { registerCounter } from '../api/counters.ts';
import { QueueError } from '../api/errors.ts';
import { registerWaitEvent } from '../api/waits.ts';
import type { Ports, Timer, Timers } from '../model/ports.ts';
import type { HolderSlot, RecordedTime } from '../model/wait-recorder.ts';
import { makePrivate } from '../storage/private-files.ts';
import { socketPath } from '../storage/socket-path.ts';
import { withFolderLock } from '../storage/sqlite/folder-lock.ts';
import { type LockClient, LockQueue } from './lock-queue.ts';
import type { SharedFileLock, WriteKind } from './shared-file-lock.ts';

/** A holder that ignores a recall for this long is stopped, and the lock passes on without it. */
const holderSilentMsMax = 1_000;

/** A call that has had no answer for this long proceeds without the lock. */
const answerWaitMsMax = 3_000;

/** A recalled holder may still run calls that waited before the recall, for this long. */
const recallGraceMs = 4;

const acquireTag = 'A';
const releaseTag = 'R';
const grantTag = 'G';
const recallTag = 'C';

export const writeLock = registerWaitEvent({
  name: 'write lock',
  class: 'concurrency',
  standsFor: 'buffer busy waits and gc buffer busy',
  about: 'other sessions, of this process or another, write to the file of the unsharded queues',
  oneHolderIn: 'cluster',
});

export const writeLockElsewhereMs = registerCounter({
  name: 'write lock elsewhere',
  unit: 'milliseconds',
  about:
    'the part of the time of sessions in "write lock" in which another process had it; not counted for grouped queues',
});

/** The holder for writes without a session, such as the return of messages whose holds expired. */
const instanceItself = 'the instance itself';

/** A session, or the instance. */
export type WriteLockHolder = RecordedTime | typeof instanceItself;

export const idOfHolder = (holder: WriteLockHolder): number | string =>
  holder === instanceItself ? holder : holder.number;

export interface WriteLockOptions {
  dir: string;
  ports: LockPorts;
  /** Called for a call of no session; for one of a session the wait is in its time book. */
  onWaited(ms: number): void;
  /** Called for a call of a session that waited: for so long of its wait another process had the lock. */
  onHeldElsewhere?(ms: number): void;
  /** Slot for the writing session of this process; left out if the calls do not belong to single sessions. */
  holder?: HolderSlot<WriteLockHolder>;
}

type LockPorts = Pick<Ports, 'clock' | 'timers'>;

interface PendingCall {
  run(): void;
  reject(error: QueueError): void;
  queuedAtMs: number;
  time: RecordedTime | undefined;
}

interface LockLink {
  send(message: string): void;
  /** True while calls wait: keeps the process alive. */
  keepAlive(wanted: boolean): void;
  close(): void;
}

export class WriteLock implements SharedFileLock {
  readonly #options: WriteLockOptions;
  readonly #ports: LockPorts;
  readonly #path: string;
  readonly #pendingCalls: Record<WriteKind, PendingCall[]> = { delivery: [], commit: [] };
  /** Whether the turn before ran deliveries. */
  #lastTurnWasDelivery = false;
  #link: LockLink | undefined;
  #connecting: Promise<LockLink> | undefined;
  #held = false;
  /** When this process got the lock last, and when it passed the lock on before that. */
  #grantedAtMs = Number.NEGATIVE_INFINITY;
  #releasedAtMs = Number.NEGATIVE_INFINITY;
  #scheduled = false;
  #acquireSent = false;
  #recalledAtMs: number | undefined;
  #answerTimer: Timer | undefined;
  #closed = false;

  constructor(options: WriteLockOptions) {
    this.#options = options;
    this.#ports = options.ports;
    this.#path = socketPath(options.dir, 'write-lock.sock');
  }

  /** Runs `work`, synchronous and short, while this process has the lock. */
  run<T>(kind: WriteKind, work: () => T, time?: RecordedTime): Promise<T> {
    if (this.#closed) return Promise.reject(new QueueError('INSTANCE_CLOSED'));
    time?.begin(writeLock);
    const { holder } = this.#options;
    return new Promise((resolveCall, reject) => {
      const since = this.#ports.clock.monotonicMs();
      this.#pendingCalls[kind].push({
        queuedAtMs: since,
        time,
        reject,
        run: () => {
          try {
            time?.end();
            holder?.setHolder(time ?? instanceItself);
            resolveCall(work());
          } catch (error) {
            reject(error);
          } finally {
            holder?.setHolder(undefined);
          }
        },
      });
      this.#schedule();
    });
  }

  get #waitingCount(): number {
    return this.#pendingCalls.delivery.length + this.#pendingCalls.commit.length;
  }

  /** Runs calls once in each turn of the event loop, so that sessions that only write do not block everything else. */
  #schedule(): void {
    this.#link?.keepAlive(true);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#ports.timers.nextTurn(() => {
      this.#scheduled = false;
      this.#runTurn();
    });
  }

  /**
   * Deliveries and commits alternate, so that consumers can commit a turn after their delivery. A dequeuer writes twice for
   * each write of an enqueuer; in a single queue it would fall behind by half.
   */
  #runTurn(): void {
    if (!this.#held) {
      if (this.#waitingCount > 0) void this.#acquire();
      return;
    }
    const { delivery: deliveries, commit: commits } = this.#pendingCalls;
    const recalled = this.#recalledAtMs !== undefined;
    const deliversNow = deliveries.length > 0 && !(this.#lastTurnWasDelivery && commits.length > 0);
    if (deliversNow || recalled) this.#runCalls(deliveries);
    if (!deliversNow || recalled) this.#runCalls(commits);
    this.#lastTurnWasDelivery = deliversNow;
    if (this.#waitingCount === 0) this.#link?.keepAlive(false);
    else if (!recalled) this.#schedule();
    if (recalled) this.#release();
  }

  #runCalls(calls: PendingCall[]): void {
    for (let left = calls.length; left > 0; left -= 1) {
      const call = calls[0]!;
      if (this.#recalledAtMs !== undefined) {
        const late = this.#ports.clock.monotonicMs() - this.#recalledAtMs > recallGraceMs;
        if (late || call.queuedAtMs > this.#recalledAtMs) break;
      }
      calls.shift();
      this.#countWait(call);
      call.run();
    }
  }

  /** Waits for other processes and for other sessions of this one are both waits for the lock. */
  #countWait({ time, queuedAtMs }: PendingCall): void {
    if (time === undefined) {
      this.#options.onWaited(this.#ports.clock.monotonicMs() - queuedAtMs);
      return;
    }
    const elsewhereMs = this.#grantedAtMs - Math.max(queuedAtMs, this.#releasedAtMs);
    if (elsewhereMs > 0) this.#options.onHeldElsewhere?.(elsewhereMs);
  }

  #beginHold(): void {
    this.#held = true;
    this.#grantedAtMs = this.#ports.clock.monotonicMs();
    this.#runTurn();
  }

  #endHold(): void {
    if (this.#held) this.#releasedAtMs = this.#ports.clock.monotonicMs();
    this.#held = false;
    this.#recalledAtMs = undefined;
  }

  #release(): void {
    this.#endHold();
    this.#link?.send(releaseTag);
    if (this.#waitingCount > 0) void this.#acquire();
  }

  /** The serving process is stopped: until it answers again, SQLite alone decides who writes. */
  #proceedUnlocked(): void {
    if (this.#held || this.#closed || this.#waitingCount === 0) return;
    this.#beginHold();
  }

  async #acquire(): Promise<void> {
    if (this.#acquireSent || this.#held || this.#closed) return;
    if (this.#link === undefined) {
      this.#connecting ??= this.#connectOrServe();
      try {
        this.#link = await this.#connecting;
      } catch (error) {
        const failure = new QueueError('STORAGE_FAILED', {
          message: `The write lock at ${this.#path} cannot be reached: ${String(error)}`,
          cause: error,
        });
        this.#rejectAll(failure);
        return;
      } finally {
        this.#connecting = undefined;
      }
      if (this.#acquireSent || this.#held || this.#closed) return;
    }
    this.#acquireSent = true;
    this.#link.keepAlive(this.#waitingCount > 0);
    this.#answerTimer?.cancel();
    this.#answerTimer = this.#ports.timers.deadline(answerWaitMsMax, () => this.#proceedUnlocked());
    this.#link.send(acquireTag);
  }

  #onMessages(messages: string): void {
    for (const message of messages) {
      if (message === grantTag) {
        this.#answerTimer?.cancel();
        this.#acquireSent = false;
        this.#beginHold();
      } else if (message === recallTag) {
        this.#recalledAtMs = this.#ports.clock.monotonicMs();
        this.#runTurn();
      }
    }
  }

  #onLinkLost(): void {
    this.#answerTimer?.cancel();
    this.#link = undefined;
    this.#endHold();
    this.#acquireSent = false;
    if (!this.#closed && this.#waitingCount > 0) void this.#acquire();
  }

  async #connectOrServe(): Promise<LockLink> {
    const before = await this.#connect();
    if (before !== undefined) return before;
    return withFolderLock(
      this.#options.dir,
      this.#ports.timers,
      async () => (await this.#connect()) ?? (await this.#startServer()),
    );
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

  async #startServer(): Promise<LockLink> {
    rmSync(this.#path, { force: true }); // left by a dead process
    const order = new LockQueue();
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      serveClient(socket, order, this.#ports.timers);
      socket.once('close', () => sockets.delete(socket));
    });
    await new Promise<void>((listening, failed) => {
      server.once('error', failed);
      server.listen(this.#path, listening);
    });
    makePrivate(this.#path);
    const localClient: LockClient = {
      grant: () => this.#onMessages(grantTag),
      recall: () => this.#onMessages(recallTag),
    };
    return {
      send: (message) => (message === acquireTag ? order.acquire(localClient) : order.release(localClient)),
      keepAlive: (wanted) => void (wanted ? server.ref() : server.unref()),
      close: () => {
        server.close();
        for (const socket of sockets) socket.destroy(); // their processes find or start another server
      },
    };
  }

  #rejectAll(error: QueueError): void {
    for (const calls of Object.values(this.#pendingCalls))
      for (const call of calls.splice(0)) {
        call.time?.end();
        call.reject(error);
      }
  }

  /** Calls that still wait are rejected. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#answerTimer?.cancel();
    this.#rejectAll(new QueueError('INSTANCE_CLOSED'));
    const link = (await this.#connecting?.catch(() => undefined)) ?? this.#link;
    link?.close();
  }
}

/** One client of the serving process. */
function serveClient(socket: Socket, order: LockQueue, timers: Timers): void {
  let revoking: Timer | undefined;
  const client: LockClient = {
    grant: () => void socket.write(grantTag),
    recall: () => {
      socket.write(recallTag);
      // Safe: if the holder wakes up and still writes, SQLite admits only one writer. A recall of an earlier hold has no say in this.
      revoking?.cancel();
      revoking = timers.deadline(holderSilentMsMax, () => order.release(client));
    },
  };
  socket.setEncoding('latin1');
  socket.on('data', (messages: string) => {
    for (const message of messages) {
      if (message === acquireTag) order.acquire(client);
      else if (message === releaseTag) {
        revoking?.cancel();
        order.release(client);
      }
    }
  });
  socket.on('error', () => undefined); // 'close' follows
  socket.on('close', () => {
    revoking?.cancel();
    order.remove(client);
  });
  socket.unref();
}
