/** How forwarding reaches the other instances. `cluster/interconnect/` implements it over their sockets. */

import type { ForwardedBatch, ReceiverReport, ShardKey } from '../model/forwarded-batch.ts';
import type { InstanceId, QueueId } from '../model/ids.ts';

/**
 * Another instance of the cluster. If a call rejects because the connection or the peer failed, it is unknown here whether the
 * peer carried it out.
 */
export interface Peer {
  readonly instance: InstanceId;
  /** Asks for one batch of up to `messagesMax` messages. Resolves once it has come, or after `cancelRequest`. */
  requestBatch(queueId: QueueId, messagesMax: number): Promise<void>;
  cancelRequest(queueId: QueueId): void;
  /** Resolves with whether the peer has committed the batch. If not, it never will. */
  forward(batch: ForwardedBatch): Promise<boolean>;
  /**
   * Asks which messages of a shard the peer has. From then on the peer refuses batches from earlier connections or processes of
   * this instance. With `whenDelivered` the answer comes once all of these messages are delivered.
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
