/**
 * Follows the cluster over server-sent events. Each connection starts with a snapshot, so a reconnection loses nothing.
 */
import type { ClusterStreamEvent } from '@shardlab/contract';
import { applyClusterEvent, type FollowedCluster } from '../model/cluster-state.ts';

export interface ClusterStreamState {
  followed: FollowedCluster | null;
  connection: 'connecting' | 'open' | 'lost';
}

const url = '/api/cluster/events';
/** The browser does not retry a connection that the server refused, so this class does. */
const reconnectMs = 2_000;

/**
 * The state of the stream, for `useSyncExternalStore`. Connects with the first subscriber, disconnects with the last.
 */
export class ClusterStream {
  readonly #listeners = new Set<() => void>();
  #state: ClusterStreamState = { followed: null, connection: 'connecting' };
  #source: EventSource | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;

  readonly getState = (): ClusterStreamState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#connect();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#disconnect();
    };
  };

  #connect(): void {
    const source = new EventSource(url);
    this.#source = source;
    for (const type of ['snapshot', 'tick'] as const) {
      source.addEventListener(type, (message) => {
        const event = JSON.parse((message as MessageEvent<string>).data) as ClusterStreamEvent;
        this.#set({ followed: applyClusterEvent(this.#state.followed, event), connection: 'open' });
      });
    }
    source.addEventListener('error', () => {
      this.#set({ connection: 'lost' });
      if (source.readyState !== EventSource.CLOSED) return;
      this.#disconnect();
      this.#retry = setTimeout(() => this.#connect(), reconnectMs);
    });
  }

  #disconnect(): void {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
  }

  #set(change: Partial<ClusterStreamState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
