/**
 * The sessions: closed loops of transactions. Each call is a round trip (where there is one), CPU on the instance and,
 * in an unsharded queue, a visit to a block of the global index; the commit likewise, then a group commit, or a sync
 * while the block is held. An enqueuer pauses while the backlog is too large; a dequeuer waits if nothing is ready.
 */

import type { Backlog } from './backlog.ts';
import type { ClusterCosts } from './costs.ts';
import { FlowControl } from './flow-control.ts';
import type { GroupCommit } from './group-commit.ts';
import type { HotBlocks } from './hot-blocks.ts';
import { eventKinds, type Kernel } from './kernel.ts';
import type { Layout } from './layout.ts';
import type { Meter } from './meter.ts';
import { noThread, type Processors, priorities } from './processors.ts';
import { ProgramTimes } from './program-times.ts';
import type { SerialResource } from './serial-resource.ts';
import { costOf, type RoleCosts, type SessionCosts, sessionCosts } from './session-costs.ts';
import { type SessionTimes, stateIndex } from './session-times.ts';
import { visitKinds } from './visit-queues.ts';
import type { ModelWorkload } from './workload.ts';

/** The stage of a session; its wait events are recorded in `SessionTimes`. */
const stages = {
  callTrip: 0,
  waking: 1,
  call: 2,
  callInBlock: 3,
  commitTrip: 4,
  commit: 5,
  maintenance: 6,
  commitInBlock: 7,
  syncInBlock: 8,
  waiting: 9,
  other: 10,
} as const;

/** A dequeuer with an incomplete batch commits it when no more messages arrive for this time, as in the lab's trials. */
const partialBatchWaitUs = 100_000;

export interface SessionParts {
  kernel: Kernel;
  processors: Processors;
  sessionTimes: SessionTimes;
  layout: Layout;
  costs: ClusterCosts;
  workload: ModelWorkload;
  backlog: Backlog;
  groupCommit: GroupCommit;
  blocks: HotBlocks;
  /** The resource for partition maintenance that all instances share. */
  maintenance: SerialResource;
  meter: Meter;
  /** Called when a dequeuer of this instance found nothing, and when messages became visible at a place. */
  onEmptyDequeue(instance: number): void;
  onAppended(place: number): void;
}

export class Sessions {
  readonly #parts: SessionParts;
  readonly #cost: SessionCosts;
  readonly #sharded: boolean;
  readonly #operations: number;
  readonly #messagesPerCall: number;
  readonly #roundTripUs: number;
  /** Cost of each message at the shared maintenance resource. */
  readonly #maintenanceUs: number;
  readonly #countsDequeues: boolean;
  readonly #syncsInBlock: boolean;
  /** Whether the block is the lock that a thread holds while it serves a turn of its sessions. */
  readonly #locksInTurns: boolean;
  /** Whether programs run on the thread of their instance and make their calls without a round trip. */
  readonly #sharesThread: boolean;
  readonly #stage: Uint8Array;
  /** Messages of the open transaction, and of the call under way. */
  readonly #messagesDone: Int32Array;
  readonly #messagesInCall: Int32Array;
  readonly #callAt: Float64Array;
  readonly #commitAt: Float64Array;
  /** Enqueuer: when the commit began. Dequeuer: mean sending time of the messages of the call under way. */
  readonly #sentAt: Float64Array;
  readonly #programTimes: ProgramTimes;
  readonly #flowControl: FlowControl;

  constructor(parts: SessionParts) {
    const { layout, costs, workload } = parts;
    this.#parts = parts;
    this.#cost = sessionCosts(costs, workload);
    this.#sharded = workload.kind === 'sharded';
    this.#operations = workload.operationsPerTransaction;
    const roundTripUs = workload.roundTripUs ?? costs.sessions.roundTripUs;
    this.#roundTripUs = roundTripUs === 0 ? 0 : roundTripUs + costs.sessions.timerLateUs;
    this.#messagesPerCall = this.#roundTripUs > 0 ? 1 : this.#operations;
    const { scope, counts, partitionUs, operationsPerPartition } = costs.maintenance;
    this.#maintenanceUs = this.#sharded && scope === 'cluster' ? partitionUs / operationsPerPartition : 0;
    this.#countsDequeues = counts === 'operations';
    this.#syncsInBlock = costs.unsharded.syncInBlock && (workload.durability ?? 'durable') === 'durable';
    this.#locksInTurns = costs.sessions.oneThread && costs.unsharded.order === 'alternating';
    this.#sharesThread = costs.sessions.oneThread && this.#roundTripUs === 0;
    this.#stage = new Uint8Array(layout.sessions);
    this.#messagesDone = new Int32Array(layout.sessions);
    this.#messagesInCall = new Int32Array(layout.sessions);
    this.#callAt = new Float64Array(layout.sessions);
    this.#commitAt = new Float64Array(layout.sessions);
    this.#sentAt = new Float64Array(layout.sessions);
    this.#programTimes = new ProgramTimes({
      kernel: parts.kernel,
      meter: parts.meter,
      sessions: layout.sessions,
      onSharedThread: this.#sharesThread,
    });
    const places = this.#sharded ? layout.instances : 1;
    this.#flowControl = new FlowControl(parts.backlog, {
      places,
      jobs: layout.jobs,
      backlogMax: ((workload.backlogMax ?? Number.POSITIVE_INFINITY) * layout.instances) / places,
    });
  }

  start(): void {
    for (let job = 0; job < this.#parts.layout.sessions; job++) this.#begin(job);
  }

  #isEnqueuer(job: number): boolean {
    return job < this.#parts.layout.enqueuers;
  }

  #roleOf(job: number): RoleCosts {
    return this.#isEnqueuer(job) ? this.#cost.enqueuer : this.#cost.dequeuer;
  }

  #placeOf(job: number): number {
    return this.#sharded ? this.#parts.layout.instanceOf[job]! : 0;
  }

  #threadOf(job: number): number {
    const { costs, layout, processors } = this.#parts;
    return costs.sessions.oneThread ? processors.sessionThread(layout.instanceOf[job]!) : noThread;
  }

  /** Starts a new transaction, unless the enqueuer must pause. */
  #begin(job: number): void {
    const { sessionTimes, kernel } = this.#parts;
    this.#messagesDone[job] = 0;
    if (this.#isEnqueuer(job) && this.#flowControl.blockIfFull(this.#placeOf(job), job)) {
      this.#programTimes.programContinues(job);
      sessionTimes.enter(job, stateIndex.flowControl, kernel.now);
    } else this.#nextCall(job);
  }

  /** Messages of the place were consumed. */
  resumeEnqueuers(place: number): void {
    for (
      let job = this.#flowControl.takeResumable(place);
      job >= 0;
      job = this.#flowControl.takeResumable(place)
    )
      this.#nextCall(job);
  }

  #nextCall(job: number): void {
    if (this.#roundTripUs === 0) this.#serveCall(job);
    else this.#startRoundTrip(job, stages.callTrip);
  }

  #startRoundTrip(job: number, stage: number): void {
    const { kernel, costs, sessionTimes } = this.#parts;
    this.#stage[job] = stage;
    sessionTimes.enter(job, stateIndex.roundTrip, kernel.now);
    kernel.after(
      kernel.random.sampleAround(this.#roundTripUs, costs.variation.network),
      eventKinds.delay,
      job,
    );
  }

  delayEnded(job: number): void {
    switch (this.#stage[job]) {
      case stages.callTrip:
        this.#serveCall(job);
        break;
      case stages.waking:
        this.#run(job, stages.call);
        break;
      case stages.commitTrip:
        this.#runCommit(job);
        break;
      case stages.maintenance:
        this.#joinGroup(job);
        break;
      default:
        this.#endVisit(job);
    }
  }

  #serveCall(job: number): void {
    const { kernel } = this.#parts;
    this.#callAt[job] = kernel.now;
    const wanted = Math.min(this.#messagesPerCall, this.#operations - this.#messagesDone[job]!);
    if (this.#isEnqueuer(job)) {
      this.#messagesInCall[job] = wanted;
      this.#run(job, stages.call);
    } else if (this.#take(job, wanted)) this.#run(job, stages.call);
    else this.#waitForMessages(job);
  }

  /** Messages are delivered in the order of the calls, so they are taken before the call waits for CPU. */
  #take(job: number, wanted: number): boolean {
    const { backlog, layout } = this.#parts;
    const got = backlog.take(this.#placeOf(job), layout.subscriberOf[job]!, wanted);
    this.#messagesInCall[job] = got;
    this.#sentAt[job] = backlog.lastTakenSentAt;
    return got > 0;
  }

  #waitForMessages(job: number): void {
    const { backlog, sessionTimes, kernel, layout, onEmptyDequeue } = this.#parts;
    this.#programTimes.programContinues(job);
    this.#stage[job] = stages.waiting;
    sessionTimes.enter(job, stateIndex.waiting, kernel.now);
    if (this.#messagesDone[job]! > 0) kernel.after(partialBatchWaitUs, eventKinds.patience, job);
    backlog.wait(this.#placeOf(job), layout.subscriberOf[job]!, job);
    onEmptyDequeue(layout.instanceOf[job]!);
  }

  /** It waited too long for the rest of its messages; unless they came, and it waits for others by now. */
  partialBatchWaitEnded(job: number): void {
    const { backlog, kernel, layout } = this.#parts;
    if (this.#stage[job] !== stages.waiting || kernel.now < this.#callAt[job]! + partialBatchWaitUs) return;
    backlog.stopWaiting(this.#placeOf(job), layout.subscriberOf[job]!, job);
    this.#beginCommit(job);
  }

  /** Messages arrived at a place, by a commit on an instance. */
  appended(place: number, byInstance: number): void {
    const { backlog, kernel, layout, costs, onAppended } = this.#parts;
    for (let job = backlog.nextToServe(place); job >= 0; job = backlog.nextToServe(place)) {
      this.#take(job, Math.min(this.#messagesPerCall, this.#operations - this.#messagesDone[job]!));
      this.#callAt[job] = kernel.now;
      if (this.#sharded || layout.instanceOf[job] === byInstance || costs.unsharded.lookUs === 0) {
        this.#run(job, stages.call);
      } else {
        this.#stage[job] = stages.waking;
        kernel.after(kernel.random.next() * costs.unsharded.lookUs, eventKinds.delay, job);
      }
    }
    onAppended(place);
  }

  #run(job: number, stage: number): void {
    this.#stage[job] = stage;
    this.#parts.processors.request(job, this.#threadOf(job));
  }

  demandOf(job: number): number {
    const { kernel, costs } = this.#parts;
    return kernel.random.sampleAround(this.#meanDemandOf(job), costs.variation.cpu);
  }

  #meanDemandOf(job: number): number {
    const role = this.#roleOf(job);
    switch (this.#stage[job]) {
      case stages.call: {
        this.#programTimes.programContinues(job);
        // Where client and instance share a thread, a call begins when the thread turns to it.
        if (this.#parts.costs.sessions.oneThread) this.#callAt[job] = this.#parts.kernel.now;
        const skipUs = role.skipUs === 0 ? 0 : role.skipUs * this.#heldByOthers(job);
        const commitUs = this.#commitsAtOnce(job) ? costOf(role.commit, this.#messagesInCall[job]!) : 0;
        return costOf(role.call, this.#messagesInCall[job]!) + skipUs + commitUs;
      }
      case stages.callInBlock:
        return costOf(role.callInBlock!, this.#messagesInCall[job]!);
      case stages.commit:
        this.#programTimes.programContinues(job);
        if (this.#parts.costs.sessions.oneThread) this.#commitAt[job] = this.#parts.kernel.now;
        return costOf(role.commit, this.#messagesDone[job]!);
      default:
        return costOf(role.commitInBlock!, this.#messagesDone[job]!);
    }
  }

  #heldByOthers(job: number): number {
    const { backlog, layout } = this.#parts;
    const held = backlog.held(this.#placeOf(job), layout.subscriberOf[job]!);
    return held - this.#messagesDone[job]! - this.#messagesInCall[job]!;
  }

  /** The session has the block that its stage needs. */
  granted(job: number): void {
    const { processors } = this.#parts;
    processors.request(
      job,
      this.#threadOf(job),
      this.#locksInTurns ? priorities.lockedWrite : priorities.continuation,
    );
  }

  burstEnded(job: number): void {
    switch (this.#stage[job]) {
      case stages.call:
        if (this.#roleOf(job).callInBlock === null) this.#callEnded(job);
        else this.#visit(job, stages.callInBlock);
        this.#releaseThread(job);
        break;
      case stages.commit:
        this.#makeDurable(job);
        this.#releaseThread(job);
        break;
      case stages.commitInBlock:
        if (this.#syncsInBlock) this.#syncInBlock(job);
        else this.#endVisit(job);
        break;
      default:
        this.#endVisit(job);
    }
  }

  #releaseThread(job: number): void {
    this.#parts.processors.releaseThread(this.#threadOf(job));
  }

  #visit(job: number, stage: number): void {
    this.#stage[job] = stage;
    const isDelivery = stage === stages.callInBlock && !this.#isEnqueuer(job);
    const kind = isDelivery ? visitKinds.delivery : visitKinds.commit;
    this.#parts.blocks.request(this.#roleOf(job).block, kind, job);
  }

  /**
   * A thread continues with this session first, unless it serves all that wait for the lock before: then the block is released first,
   * so that the next visit is before this session's next step.
   */
  #endVisit(job: number): void {
    const { costs, blocks } = this.#parts;
    const { block } = this.#roleOf(job);
    if (this.#locksInTurns) blocks.release(block);
    if (this.#stage[job] === stages.callInBlock) this.#callEnded(job);
    else if (costs.unsharded.syncInBlock) this.committed(job);
    else this.#joinGroup(job);
    this.#releaseThread(job);
    if (!this.#locksInTurns) blocks.release(block);
  }

  #callEnded(job: number): void {
    const { kernel } = this.#parts;
    if (!this.#isEnqueuer(job)) {
      this.#programTimes.callEnded(job, {
        beganAt: this.#callAt[job]!,
        sentAt: this.#sentAt[job]!,
        messages: this.#messagesInCall[job]!,
      });
    }
    this.#messagesDone[job] = this.#messagesDone[job]! + this.#messagesInCall[job]!;
    if (this.#messagesDone[job]! < this.#operations) {
      this.#nextCall(job);
      return;
    }
    if (this.#isEnqueuer(job)) this.#sentAt[job] = this.#roundTripUs === 0 ? this.#callAt[job]! : kernel.now;
    if (this.#commitsAtOnce(job)) {
      this.#commitAt[job] = kernel.now - costOf(this.#roleOf(job).commit, this.#messagesDone[job]!);
      this.#makeDurable(job);
    } else this.#beginCommit(job);
  }

  /** Embedded enqueues stage messages and wait for nothing: the commit follows in the same burst. */
  #commitsAtOnce(job: number): boolean {
    return this.#sharesThread && this.#isEnqueuer(job);
  }

  #beginCommit(job: number): void {
    if (this.#roundTripUs === 0) this.#runCommit(job);
    else this.#startRoundTrip(job, stages.commitTrip);
  }

  #runCommit(job: number): void {
    this.#commitAt[job] = this.#parts.kernel.now;
    this.#run(job, stages.commit);
  }

  /** The session's own part of the commit is done. */
  #makeDurable(job: number): void {
    const { kernel, sessionTimes, maintenance } = this.#parts;
    if (this.#roleOf(job).commitInBlock !== null) {
      this.#visit(job, stages.commitInBlock);
      return;
    }
    if (this.#maintenanceUs === 0 || !(this.#isEnqueuer(job) || this.#countsDequeues)) {
      this.#joinGroup(job);
      return;
    }
    this.#stage[job] = stages.maintenance;
    sessionTimes.enter(job, stateIndex.maintenance, kernel.now);
    const end = maintenance.reserve(kernel.now, this.#messagesDone[job]! * this.#maintenanceUs);
    kernel.after(end - kernel.now, eventKinds.delay, job);
  }

  #joinGroup(job: number): void {
    this.#stage[job] = stages.other;
    const enqueues = this.#isEnqueuer(job);
    const messages = this.#messagesDone[job]!;
    this.#parts.groupCommit.join(job, enqueues ? messages : 0, enqueues ? 0 : messages);
  }

  /** The session keeps block and thread during the sync. */
  #syncInBlock(job: number): void {
    const { kernel, sessionTimes, costs } = this.#parts;
    this.#stage[job] = stages.syncInBlock;
    sessionTimes.enter(job, stateIndex.logFileSync, kernel.now);
    kernel.after(
      kernel.random.sampleAround(costs.unsharded.syncUs, costs.variation.redo),
      eventKinds.delay,
      job,
    );
  }

  /** The transaction is durable: its messages become visible, or are consumed, and the next one begins. */
  committed(job: number): void {
    const { backlog, layout, meter } = this.#parts;
    this.#programTimes.commitEnded(job, this.#commitAt[job]!);
    const place = this.#placeOf(job);
    const instance = layout.instanceOf[job]!;
    const messages = this.#messagesDone[job]!;
    if (this.#isEnqueuer(job)) {
      meter.enqueued += messages;
      backlog.append(place, messages, this.#sentAt[job]!);
      this.appended(place, instance);
    } else {
      meter.dequeued += messages;
      meter.dequeuedOn[instance] = meter.dequeuedOn[instance]! + messages;
      backlog.consume(place, layout.subscriberOf[job]!, messages);
      this.resumeEnqueuers(place);
    }
    this.#begin(job);
  }
}
