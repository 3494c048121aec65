/** Answers the requests of another instance over one connection. */

import type { InstanceForwarding } from '../forwarding/instance-forwarding.ts';
import type { InstanceId } from '../model/ids.ts';
import type { MachineClock } from '../model/ports.ts';
import type { BodyReader } from '../wire/body-reader.ts';
import { peerCallFromJson, readBatch } from '../wire/peer-messages.ts';
import { protocolError } from '../wire/protocol.ts';
import { passedOnFromWire } from '../wire/xa-calls.ts';
import type { ServedBranches } from '../xa/served-branches.ts';
import type { HomeCaller } from '../xa/tight/home-caller.ts';

export class PeerRequestHandler {
  readonly #forwarding: InstanceForwarding;
  readonly #home: HomeCaller;
  readonly #branches: Pick<ServedBranches, 'answer'>;
  readonly #clock: MachineClock;
  readonly #requestingPeers = new Set<InstanceId>();

  constructor(parts: {
    forwarding: InstanceForwarding;
    home: HomeCaller;
    branches: Pick<ServedBranches, 'answer'>;
    clock: MachineClock;
  }) {
    this.#forwarding = parts.forwarding;
    this.#home = parts.home;
    this.#branches = parts.branches;
    this.#clock = parts.clock;
  }

  /** Resolves with whether this instance has committed the batch. */
  acceptBatch(body: BodyReader): Promise<boolean> {
    const { sender, batch, sentAtMs } = readBatch(body);
    return this.#forwarding.acceptBatch(sender, batch, Math.max(0, this.#clock.nowMs() - sentAtMs));
  }

  async call(json: string): Promise<unknown> {
    const call = peerCallFromJson(json);
    switch (call.call) {
      case 'request-batch':
        this.#requestingPeers.add(call.peer);
        await this.#forwarding.requestBatch(call.peer, call.queueId, call.messagesMax);
        return null;
      case 'cancel-request':
        this.#forwarding.cancelRequest(call.peer, call.queueId);
        return null;
      case 'report-received':
        return this.#forwarding.reportReceived(call.sender, call, call.whenDelivered);
      case 'recall':
        this.#forwarding.recall(call);
        return null;
      case 'home':
        return this.#home.call(call.ofHome);
      case 'branch':
        return this.#branches.answer(passedOnFromWire(call.ofBranch));
      default:
        throw protocolError(`Unknown call between instances: ${String((call as { call: unknown }).call)}`);
    }
  }

  /** The connection is lost: the peer repeats its requests over the next one. */
  end(): void {
    for (const peer of this.#requestingPeers) this.#forwarding.cancelRequest(peer);
    this.#home.end();
  }
}
