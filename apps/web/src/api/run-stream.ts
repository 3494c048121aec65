/**
 * Follows a run over server-sent events. The browser reconnects by itself and sends the id of the last event it
 * received.
 */
import type { RunEvent } from '@shardlab/contract';
import { applyRunEvent, type FollowedRun, isFinished } from '../model/run-state.ts';
import { EventConnection } from './event-connection.ts';

export interface StreamState {
  /** Null before the first snapshot. */
  followed: FollowedRun | null;
  /** The server refused the stream and gives no reason: the run may be unknown. */
  isRefused: boolean;
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
  #state: StreamState = { followed: null, isRefused: false };
  #shown: StreamState = this.#state;
  #connection: EventConnection<RunEvent> | null = null;
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

  /** Asks again for a stream that was refused. */
  reconnect(): void {
    if (this.#listeners.size > 0) this.#connect();
  }

  /** Follows a run again that had ended and has been resumed. */
  restart(): void {
    this.#disconnect();
    this.#set({ followed: null, isRefused: false }, 'now');
    this.#connect();
  }

  #connect(): void {
    const { followed } = this.#state;
    if (this.#connection !== null || (followed !== null && isFinished(followed.run.status))) return;
    this.#connection = new EventConnection<RunEvent>({
      url: this.#url,
      types: eventTypes,
      onEvent: (event) => this.#receive(event),
      onRefused: () => this.#refused(),
    });
  }

  /** Returns whether to connect again: a run that has sent events exists. For any other the page determines the error itself. */
  #refused(): boolean {
    if (this.#state.followed !== null) return true;
    this.#disconnect();
    this.#set({ isRefused: true }, 'now');
    return false;
  }

  #receive(event: RunEvent): void {
    const followed = applyRunEvent(this.#state.followed, event);
    if (followed !== null && isFinished(followed.run.status) && event.type !== 'status') this.#disconnect();
    const canWait = event.type === 'tick' || event.type === 'progress' || event.type === 'point';
    this.#set({ followed, isRefused: false }, canWait ? 'soon' : 'now');
  }

  #disconnect(): void {
    this.#connection?.close();
    this.#connection = null;
  }

  #set(change: Partial<StreamState>, when: 'now' | 'soon'): void {
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
