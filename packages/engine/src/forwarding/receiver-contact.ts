/**
 * A sender's requests to the receiver of a shard: to report the messages that it has received, and to return those that it has
 * not delivered.
 */

import type { ReceiverReport, ShardKey } from '../model/forwarded-batch.ts';
import type { InstanceId } from '../model/ids.ts';
import type { Peer } from './interconnect.ts';
import type { RetryPause } from './retry-pause.ts';

/** There is no connection to other instances at all. `OutboundForwarding.resume` continues once there is one. */
export class InterconnectUnavailable extends Error {}

export interface ReceiverContactOptions {
  shardKey: ShardKey;
  /** Undefined while there is no way to other instances. */
  peer(instance: InstanceId): Peer | undefined;
  retryPause: RetryPause;
}

export class ReceiverContact {
  readonly #options: ReceiverContactOptions;
  #recalled = false;

  constructor(options: ReceiverContactOptions) {
    this.#options = options;
  }

  /**
   * Repeats the question until the receiver answers, however long it cannot be reached. `onRetry` is called after each
   * failure. Rejects with `InterconnectUnavailable`, and with `ForwardingClosed` at the end of the queue.
   */
  async askForReport(
    receiver: InstanceId,
    options: { whenDelivered: boolean },
    onRetry: () => void = () => {},
  ): Promise<ReceiverReport> {
    const { shardKey, peer, retryPause } = this.#options;
    for (;;) {
      const connected = peer(receiver);
      if (connected === undefined) throw new InterconnectUnavailable();
      try {
        return await connected.reportReceived(shardKey, options);
      } catch {
        this.allowRecall(); // a recall may have been lost with the connection
      }
      await retryPause.wait();
      onRetry();
    }
  }

  /** Asks the receiver, once until `allowRecall`, to send back what it has not delivered. */
  recall(receiver: InstanceId): void {
    if (this.#recalled) return;
    const peer = this.#options.peer(receiver);
    if (peer === undefined) return;
    this.#recalled = true;
    peer.recall(this.#options.shardKey).catch(() => this.allowRecall());
  }

  /** Call it whenever the receiver got more messages, or may have missed the last recall. */
  allowRecall(): void {
    this.#recalled = false;
  }
}
