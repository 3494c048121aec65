/** Another instance of the cluster, over a connection to the socket that it is served on. */
import { QueueError } from '../../core/errors.ts';
import { limits } from '../../core/limits.ts';
import type { Forwarding } from '../../instance/forwarding/forwarding.ts';
import type { Batch, Giver, LoanReport, Peer, ShardName } from '../../instance/forwarding/interconnect.ts';
import { monotonicMs } from '../monotonic-clock.ts';
import { ClientLink } from '../remote/client-link.ts';
import type { Outbox } from '../remote/outbox.ts';
import { requests } from '../remote/protocol.ts';
import { type PeerCall, writeBatch } from './peer-messages.ts';

export interface PeerLinkOptions {
  path: string;
  /** Who is there. */
  instance: number;
  /** Who is here. */
  self: { instance: number; forwarding: Forwarding };
}

export class PeerLink implements Peer {
  readonly instance: number;
  readonly #self: PeerLinkOptions['self'];
  readonly #link: ClientLink;
  #generation = 0;
  #connection = 0;
  /** After a failed attempt to connect, the next one waits, and longer each time. */
  #notBeforeMs = 0;
  #backOffMs: number = limits.forwardRetryMs;

  constructor({ path, instance, self }: PeerLinkOptions) {
    this.instance = instance;
    this.#self = self;
    this.#link = new ClientLink(path, limits.forwardConnectMs);
  }

  async want(queueId: number, max: number): Promise<void> {
    await this.#call({ call: 'want', peer: this.#self.instance, queueId, max });
  }

  unwant(queueId: number): void {
    if (!this.#link.open) return; // the want went with the connection
    this.#call({ call: 'unwant', peer: this.#self.instance, queueId }).catch(() => undefined);
  }

  async forward(batch: Batch): Promise<boolean> {
    await this.#connected();
    while (this.#link.full) await this.#link.drained();
    return this.#ask(requests.forward, (outbox) => writeBatch(outbox, this.#giver, batch, monotonicMs()));
  }

  async report(name: ShardName, { whenDelivered }: { whenDelivered: boolean }): Promise<LoanReport> {
    await this.#connected();
    return this.#call({ call: 'report', giver: this.#giver, whenDelivered, ...name });
  }

  async recall(name: ShardName): Promise<void> {
    await this.#call({ call: 'recall', ...name });
  }

  async #call<T>(call: PeerCall): Promise<T> {
    await this.#connected();
    return this.#ask(requests.peer, (outbox) => outbox.rest(JSON.stringify(call)));
  }

  async #connected(): Promise<void> {
    if (this.#link.open) return;
    if (monotonicMs() < this.#notBeforeMs) throw this.#unreachable();
    try {
      await this.#link.connected();
      this.#backOffMs = limits.forwardRetryMs;
    } catch (error) {
      this.#notBeforeMs = monotonicMs() + this.#backOffMs;
      this.#backOffMs = Math.min(this.#backOffMs * 2, limits.forwardRetryMsMax);
      throw error;
    }
  }

  #unreachable(): QueueError {
    return new QueueError('INSTANCE_UNREACHABLE', { details: { path: this.#link.path } });
  }

  /** Nothing is awaited between the look at the connection and its use. */
  #ask<T>(kind: number, write: (outbox: Outbox) => void): Promise<T> {
    if (this.#link.open) return this.#link.ask<T>(kind, write);
    return Promise.reject(this.#unreachable());
  }

  get #giver(): Giver {
    if (this.#generation !== this.#link.generation) {
      this.#generation = this.#link.generation;
      this.#connection = this.#self.forwarding.nextConnection();
    }
    const { instance, forwarding } = this.#self;
    return { instance, epoch: forwarding.epoch, connection: this.#connection };
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}
