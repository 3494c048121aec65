/**
 * Messages are forwarded only if their instance has no consumers: an instance with waiting dequeuers and no messages
 * requests a batch from the one with the largest backlog among those without dequeuers. The batch is read there, sent,
 * and committed at the receiver before the owner releases it. One forwarder per receiver, one batch at a time.
 */

import type { Backlog } from './backlog.ts';
import type { ClusterCosts } from './costs.ts';
import type { GroupCommit } from './group-commit.ts';
import { eventKinds, type Kernel } from './kernel.ts';
import type { Layout } from './layout.ts';
import { noThread, type Processors } from './processors.ts';
import type { ModelWorkload } from './workload.ts';

interface ForwardingParts {
  kernel: Kernel;
  processors: Processors;
  layout: Layout;
  costs: ClusterCosts;
  workload: ModelWorkload;
  backlog: Backlog;
  groupCommit: GroupCommit;
  /** The batch is visible at the receiver, and gone from its owner. */
  onMoved(receiver: number, owner: number): void;
}

export class Forwarding {
  readonly #parts: ForwardingParts;
  /** Instances without dequeuers; empty for a topic, because its copies to receivers are not modelled. */
  readonly #owners: number[];
  readonly #busy: Uint8Array;
  readonly #waitingReceivers: Set<number> = new Set();
  /** The batch in transit, by receiver. */
  readonly #owner: Int32Array;
  readonly #messages: Int32Array;
  readonly #sentAt: Float64Array;
  /** Messages forwarded since the start. */
  forwarded = 0;

  constructor(parts: ForwardingParts) {
    const { instances, dequeuersOn, subscribers } = parts.layout;
    this.#parts = parts;
    const forwards = parts.workload.kind === 'sharded' && subscribers === 1;
    this.#owners = Array.from({ length: forwards ? instances : 0 }, (_, instance) => instance).filter(
      (instance) => dequeuersOn[instance] === 0,
    );
    this.#busy = new Uint8Array(instances);
    this.#owner = new Int32Array(instances);
    this.#messages = new Int32Array(instances);
    this.#sentAt = new Float64Array(instances);
  }

  /** Call it when a dequeuer of the instance found nothing. */
  requestBatch(receiver: number): void {
    if (this.#owners.length === 0 || this.#busy[receiver] !== 0) return;
    const { backlog, costs, processors } = this.#parts;
    const owner = this.#owners.reduce((most, each) =>
      backlog.ready(each, 0) > backlog.ready(most, 0) ? each : most,
    );
    const messages = backlog.take(owner, 0, costs.sharded.forwardBatchMax);
    if (messages === 0) {
      this.#waitingReceivers.add(receiver);
      return;
    }
    this.#busy[receiver] = 1;
    this.#waitingReceivers.delete(receiver);
    this.#owner[receiver] = owner;
    this.#messages[receiver] = messages;
    this.#sentAt[receiver] = backlog.lastTakenSentAt;
    const job = this.#assignForwarder(receiver, owner);
    processors.request(job, costs.sessions.oneThread ? processors.sessionThread(owner) : noThread);
  }

  /** The forwarder works at its owner first, then at its receiver: its CPU and its commit are those of that instance. */
  #assignForwarder(receiver: number, instance: number): number {
    const { layout } = this.#parts;
    const job = layout.firstForwarder + receiver;
    layout.instanceOf[job] = instance;
    layout.nodeOf[job] = instance % layout.nodes;
    return job;
  }

  /** Call it when messages became visible at a place. */
  appended(place: number): void {
    if (this.#waitingReceivers.size === 0 || !this.#owners.includes(place)) return;
    for (const receiver of this.#waitingReceivers) {
      this.requestBatch(receiver);
      if (this.#parts.backlog.ready(place, 0) === 0) return;
    }
  }

  demandOf(job: number): number {
    const { costs, kernel, layout } = this.#parts;
    const messages = this.#messages[job - layout.firstForwarder]!;
    return kernel.random.sampleAround(messages * costs.sharded.forwardUs, costs.variation.cpu);
  }

  burstEnded(job: number): void {
    const { kernel, processors, costs, layout } = this.#parts;
    if (costs.sessions.oneThread) processors.releaseThread(processors.sessionThread(layout.instanceOf[job]!));
    kernel.after(costs.interconnectUs, eventKinds.delay, job);
  }

  delayEnded(job: number): void {
    const receiver = job - this.#parts.layout.firstForwarder;
    this.#assignForwarder(receiver, receiver);
    this.#parts.groupCommit.join(job, this.#messages[receiver]!, 0);
  }

  committed(job: number): void {
    const { backlog, layout, onMoved } = this.#parts;
    const receiver = job - layout.firstForwarder;
    const owner = this.#owner[receiver]!;
    const messages = this.#messages[receiver]!;
    this.#busy[receiver] = 0;
    this.forwarded += messages;
    backlog.append(receiver, messages, this.#sentAt[receiver]!);
    backlog.consume(owner, 0, messages);
    onMoved(receiver, owner);
    if (backlog.isWaiting(receiver)) this.requestBatch(receiver);
  }
}
