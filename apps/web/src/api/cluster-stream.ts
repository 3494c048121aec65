/**
 * Follows the cluster over server-sent events. Each connection starts with a snapshot, so a reconnection loses nothing.
 */
import type { ClusterStreamEvent } from '@shardlab/contract';
import { applyClusterEvent, type FollowedCluster } from '../model/cluster-state.ts';
import { EventConnection } from './event-connection.ts';

/**
 * The state of the stream, for `useSyncExternalStore`. Connects with the first subscriber, disconnects with the last.
 */
export class ClusterStream {
  readonly #listeners = new Set<() => void>();
  #followed: FollowedCluster | null = null;
  #connection: EventConnection<ClusterStreamEvent> | null = null;

  /** Null before the first snapshot. */
  readonly getState = (): FollowedCluster | null => this.#followed;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#connection ??= new EventConnection<ClusterStreamEvent>({
      url: '/api/cluster/events',
      types: ['snapshot', 'tick'],
      onEvent: (event) => this.#receive(event),
      onRefused: () => true,
    });
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#connection?.close();
      this.#connection = null;
    };
  };

  #receive(event: ClusterStreamEvent): void {
    this.#followed = applyClusterEvent(this.#followed, event);
    for (const listener of this.#listeners) listener();
  }
}
