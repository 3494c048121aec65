/**
 * Follows a run over server-sent events. The browser reconnects by itself and sends the id of the last event it
 * received.
 */
import type { RunEvent } from '@shardlab/contract';
import { applyRunEvent, type FollowedRun, isFinished } from '../model/run-state.ts';

export interface StreamState {
  followed: FollowedRun | null;
  connection: 'connecting' | 'open' | 'lost' | 'closed';
  /** Since when the server does not answer, epoch milliseconds; null while it does. */
  lostAtMs: number | null;
}

const eventTypes = ['snapshot', 'status', 'progress', 'tick', 'point', 'end'] as const;

/**
 * The least time between two notifications of ticks and points. They arrive faster than charts need redrawing, and the
 * page should take little CPU time from the machine that is being measured.
 */
const notifyMs = 400;

/**
 * The state of the stream, for `useSyncExternalStore`. Connects with the first subscriber, disconnects with the last.
 */
export class RunStream {
  readonly #url: string;
  readonly #listeners = new Set<() => void>();
  #state: StreamState = { followed: null, connection: 'connecting', lostAtMs: null };
  #shown: StreamState = this.#state;
  #source: EventSource | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(runId: string) {
    this.#url = `/api/runs/${encodeURIComponent(runId)}/events`;
  }

  readonly getState = (): StreamState => this.#shown;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#connect();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#disconnect();
    };
  };

  /** Connects again after the browser has given up. Does nothing while a connection is open or being retried. */
  reconnect(): void {
    if (this.#listeners.size === 0 || this.#source !== null) return;
    this.#set({ connection: 'connecting' }, 'now');
    this.#connect();
  }

  /** Follows a run again that had ended and goes on. */
  restart(): void {
    this.#disconnect();
    this.#set({ followed: null, connection: 'connecting', lostAtMs: null }, 'now');
    this.#connect();
  }

  #connect(): void {
    const { followed } = this.#state;
    if (this.#source !== null || (followed !== null && isFinished(followed.run.status))) return;
    const source = new EventSource(this.#url);
    this.#source = source;
    for (const type of eventTypes)
      source.addEventListener(type, (message) =>
        this.#receive(JSON.parse((message as MessageEvent<string>).data) as RunEvent),
      );
    source.addEventListener('open', () => this.#set({ connection: 'open', lostAtMs: null }));
    source.addEventListener('error', () => {
      // The browser does not retry from CLOSED: the run is unknown or the server refused. The page finds out which.
      const closed = source.readyState === EventSource.CLOSED;
      if (closed) this.#disconnect();
      this.#set(
        { connection: closed ? 'closed' : 'lost', lostAtMs: this.#state.lostAtMs ?? Date.now() },
        'now',
      );
    });
  }

  #receive(event: RunEvent): void {
    const followed = applyRunEvent(this.#state.followed, event);
    const ended = followed !== null && isFinished(followed.run.status) && event.type !== 'status';
    if (ended) this.#disconnect();
    const canWait = event.type === 'tick' || event.type === 'progress' || event.type === 'point';
    this.#set(
      { followed, ...(ended ? { connection: 'closed' as const, lostAtMs: null } : {}) },
      canWait ? 'soon' : 'now',
    );
  }

  #disconnect(): void {
    this.#source?.close();
    this.#source = null;
  }

  #set(change: Partial<StreamState>, when: 'now' | 'soon' = 'soon'): void {
    this.#state = { ...this.#state, ...change };
    if (when === 'now') this.#notify();
    else this.#timer ??= setTimeout(() => this.#notify(), notifyMs);
  }

  #notify(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#shown = this.#state;
    for (const listener of this.#listeners) listener();
  }
}
