/**
 * One enqueue session per client connection and queue. The engine binds a session to one shard and keeps its order, so
 * the messages that a client sends over one connection stay in order. Pipelined requests of a connection run one
 * after the other, so none of them finds the session busy.
 */
import { ServerError } from '../errors.ts';

/** A client connection, identified by its socket. */
export interface Connection {
  once(event: 'close', listener: () => void): unknown;
}

export interface SessionHost<Session> {
  openSession(): Session;
}

interface Entry<Session> {
  readonly session: Session;
  /** Settles when the latest call has finished. */
  tail: Promise<unknown>;
  calls: number;
}

export class ConnectionSessions<Session extends { close(): Promise<void> }> {
  readonly #host: SessionHost<Session>;
  readonly #max: number;
  /** Sessions by connection and queue, least recently used first. */
  readonly #entries = new Map<string, Entry<Session>>();
  readonly #connections = new WeakMap<Connection, number>();
  #lastConnection = 0;

  constructor(host: SessionHost<Session>, max: number) {
    this.#host = host;
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Runs `work` on the session of this connection and queue, after earlier calls. Throws `CONNECTIONS_FULL`. */
  async run<T>(connection: Connection, queue: string, work: (session: Session) => Promise<T>): Promise<T> {
    const key = `${this.#number(connection)} ${queue}`;
    const entry = this.#entries.get(key) ?? this.#open();
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.calls += 1;
    const turn = entry.tail.then(() => work(entry.session));
    entry.tail = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      entry.calls -= 1;
    }
  }

  #open(): Entry<Session> {
    if (this.#entries.size >= this.#max) this.#evict();
    return { session: this.#host.openSession(), tail: Promise.resolve(), calls: 0 };
  }

  #evict(): void {
    for (const [key, entry] of this.#entries) {
      if (entry.calls > 0) continue;
      this.#close(key, entry);
      return;
    }
    throw new ServerError('CONNECTIONS_FULL', { details: { max: this.#max } });
  }

  #number(connection: Connection): number {
    const known = this.#connections.get(connection);
    if (known !== undefined) return known;
    this.#lastConnection += 1;
    const number = this.#lastConnection;
    this.#connections.set(connection, number);
    connection.once('close', () => this.#closeConnection(number));
    return number;
  }

  #closeConnection(number: number): void {
    for (const [key, entry] of this.#entries) if (key.startsWith(`${number} `)) this.#close(key, entry);
  }

  /** Closes the session after its calls, so that a disconnect does not undo a commit in progress. */
  #close(key: string, entry: Entry<Session>): void {
    this.#entries.delete(key);
    entry.tail = entry.tail.then(() => entry.session.close()).catch(() => undefined);
  }
}
