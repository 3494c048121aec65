/** How forwarding reaches the other instances. `cluster/interconnect/` implements it over their sockets. */

import type { ForwardedBatch, ReceiverReport, ShardKey } from '../model/forwarded-batch.ts';
import type { InstanceId, QueueId } from '../model/ids.ts';

/**
 * Another instance of the cluster. If a call rejects, because the connection failed or the peer did, nobody here knows
 * whether the peer carried it out.
 */
export interface Peer {
  readonly instance: InstanceId;
  /** Asks for one batch of up to `messagesMax` messages. Resolves once it has come, or after `cancelRequest`. */
  requestBatch(queueId: QueueId, messagesMax: number): Promise<void>;
  cancelRequest(queueId: QueueId): void;
  /** Resolves with whether the peer has committed the batch. If not, it never will. */
  forward(batch: ForwardedBatch): Promise<boolean>;
  /**
   * Asks what the peer has of a shard. From then on it refuses batches that this instance sent over earlier connections
   * or in earlier processes. With `whenDelivered` the answer comes once all of it has been delivered.
   */
  reportReceived(shard: ShardKey, options: { whenDelivered: boolean }): Promise<ReceiverReport>;
  /** Asks the peer to send back the messages of the shard that it has not delivered. */
  recall(shard: ShardKey): Promise<void>;
}

export interface Interconnect {
  /** A queue without a waiting consumer or a dequeue for this long counts as having no consumer at its instance. */
  readonly consumerIdleMs: number;
  /** The other instances that a process hosts. */
  peers(): readonly InstanceId[];
  peer(instance: InstanceId): Peer;
}
