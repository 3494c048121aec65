/** Another instance of the cluster, over a connection to the socket on which it is served. */

import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import { ClientLink } from '../../client/client-link.ts';
import type { InstanceForwarding } from '../../forwarding/instance-forwarding.ts';
import type { Peer } from '../../forwarding/interconnect.ts';
import type { BatchSender, ForwardedBatch, ReceiverReport, ShardKey } from '../../model/forwarded-batch.ts';
import type { HomeAnswer, HomeCall } from '../../model/home-calls.ts';
import type { ConnectionNumber, InstanceId, QueueId } from '../../model/ids.ts';
import type { PassedOnAnswer, PassedOnCall } from '../../model/passed-on-call.ts';
import type { InstancePorts, MachineClock, Timers } from '../../model/ports.ts';
import type { FrameWriter } from '../../wire/frame-writer.ts';
import { type PeerCall, peerCallToJson, writeBatch } from '../../wire/peer-messages.ts';
import { requests } from '../../wire/protocol.ts';
import { passedOnToWire } from '../../wire/xa-calls.ts';

export interface PeerLinkOptions {
  path: string;
  /** The instance at the other end. */
  instance: InstanceId;
  /** The instance at this end. */
  self: { instance: InstanceId; forwarding: InstanceForwarding };
  /** Added to each request. */
  emulatedMs: number;
  ports: InstancePorts;
}

export class PeerLink implements Peer {
  readonly instance: InstanceId;
  readonly #self: PeerLinkOptions['self'];
  readonly #link: ClientLink;
  readonly #clock: MachineClock;
  readonly #timers: Timers;
  readonly #emulatedMs: number;
  #linkGeneration = 0;
  #connectionNumber: ConnectionNumber = 0;
  /** No attempt to connect before this time, monotonic ms. The delay doubles with every failed attempt. */
  #retryNotBeforeMs = 0;
  #retryDelayMs: number = limits.forwardRetryMs;

  constructor({ path, instance, self, emulatedMs, ports }: PeerLinkOptions) {
    this.instance = instance;
    this.#self = self;
    this.#link = new ClientLink({ path, connectMs: limits.forwardConnectMs, ports });
    this.#clock = ports.machineClock;
    this.#timers = ports.timers;
    this.#emulatedMs = emulatedMs;
  }

  async requestBatch(queueId: QueueId, messagesMax: number): Promise<void> {
    await this.#call({ call: 'request-batch', peer: this.#self.instance, queueId, messagesMax });
  }

  cancelRequest(queueId: QueueId): void {
    if (!this.#link.isOpen) return; // the request ended with the connection
    this.#call({ call: 'cancel-request', peer: this.#self.instance, queueId }).catch(() => undefined);
  }

  async forward(batch: ForwardedBatch): Promise<boolean> {
    await this.#travel();
    await this.#ensureConnected();
    while (this.#link.full) await this.#link.drained();
    return this.#request(requests.forwardBatch, (writer) =>
      writeBatch(writer, { sender: this.#sender, batch, sentAtMs: this.#clock.nowMs() }),
    );
  }

  async reportReceived(
    shardKey: ShardKey,
    { whenDelivered }: { whenDelivered: boolean },
  ): Promise<ReceiverReport> {
    await this.#ensureConnected();
    return this.#call({ call: 'report-received', sender: this.#sender, whenDelivered, ...shardKey });
  }

  async recall(shardKey: ShardKey): Promise<void> {
    await this.#call({ call: 'recall', ...shardKey });
  }

  /** A call about a tightly coupled transaction that has the peer as its home. */
  callHome(call: HomeCall): Promise<HomeAnswer> {
    return this.#call({ call: 'home', ofHome: call });
  }

  /** A call about a branch of the peer. */
  callBranch(call: PassedOnCall): Promise<PassedOnAnswer> {
    return this.#call({ call: 'branch', ofBranch: passedOnToWire(call) });
  }

  async #call<T>(call: PeerCall): Promise<T> {
    await this.#travel();
    await this.#ensureConnected();
    return this.#request(requests.peerCall, (writer) => writer.remainingText(peerCallToJson(call)));
  }

  /** The emulated latency of the interconnect. Equal for all, so requests keep their order. */
  async #travel(): Promise<void> {
    const ms = this.#emulatedMs;
    if (ms > 0) await new Promise<void>((arrive) => this.#timers.deadline(ms, arrive));
  }

  async #ensureConnected(): Promise<void> {
    if (this.#link.isOpen) return;
    if (this.#clock.nowMs() < this.#retryNotBeforeMs) throw this.#unreachable();
    try {
      await this.#link.ensureConnected();
      this.#retryDelayMs = limits.forwardRetryMs;
    } catch (error) {
      this.#retryNotBeforeMs = this.#clock.nowMs() + this.#retryDelayMs;
      this.#retryDelayMs = Math.min(this.#retryDelayMs * 2, limits.forwardRetryMsMax);
      throw error;
    }
  }

  #unreachable(): QueueError {
    return new QueueError('INSTANCE_UNREACHABLE', { details: { path: this.#link.path } });
  }

  /** Not async: the connection that was checked must be the one that is used. */
  #request<T>(kind: number, write: (writer: FrameWriter) => void): Promise<T> {
    if (this.#link.isOpen) return this.#link.request<T>(kind, write);
    return Promise.reject(this.#unreachable());
  }

  get #sender(): BatchSender {
    if (this.#linkGeneration !== this.#link.generation) {
      this.#linkGeneration = this.#link.generation;
      this.#connectionNumber = this.#self.forwarding.nextConnectionNumber();
    }
    const { instance, forwarding } = this.#self;
    return { instance, epoch: forwarding.epoch, connectionNumber: this.#connectionNumber };
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}
