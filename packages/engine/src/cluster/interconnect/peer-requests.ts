/** What another instance asks over one connection. */
import type { Forwarding } from '../../instance/forwarding/forwarding.ts';
import { monotonicMs } from '../monotonic-clock.ts';
import type { BodyReader } from '../remote/body-reader.ts';
import { protocolError } from '../remote/protocol.ts';
import { type PeerCall, readBatch } from './peer-messages.ts';

export class PeerRequests {
  readonly #forwarding: Forwarding;
  readonly #wanting = new Set<number>();

  constructor(forwarding: Forwarding) {
    this.#forwarding = forwarding;
  }

  /** Resolves with whether the batch is committed here. */
  forward(body: BodyReader): Promise<boolean> {
    const { giver, batch, sentAtMs } = readBatch(body);
    return this.#forwarding.accept(giver, batch, Math.max(0, monotonicMs() - sentAtMs));
  }

  async call(json: string): Promise<unknown> {
    let call: PeerCall;
    try {
      call = JSON.parse(json) as PeerCall;
    } catch {
      throw protocolError('A call of an instance is not JSON');
    }
    switch (call.call) {
      case 'want':
        this.#wanting.add(call.peer);
        await this.#forwarding.want(call.peer, call.queueId, call.max);
        return null;
      case 'unwant':
        this.#forwarding.unwant(call.peer, call.queueId);
        return null;
      case 'report':
        return this.#forwarding.report(call.giver, call, call.whenDelivered);
      case 'recall':
        this.#forwarding.recall(call);
        return null;
      default:
        throw protocolError(`There is no call ${String((call as { call: unknown }).call)} of an instance`);
    }
  }

  /** The connection is gone: whatever the peer wanted, it will ask again. */
  end(): void {
    for (const peer of this.#wanting) this.#forwarding.unwant(peer);
  }
}
