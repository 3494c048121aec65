/**
 * Blocks of the global index of an unsharded queue, which all sessions change: one at a time, and only on the instance
 * that holds the block. Others request it and wait. The lock on the file of our unsharded queues is modelled the same way.
 */
import type { ClusterCosts } from './costs.ts';
import { JobLists } from './job-lists.ts';
import { eventKinds, type Kernel } from './kernel.ts';
import type { Layout } from './layout.ts';
import { type Processors, priorities } from './processors.ts';
import { type SessionTimes, stateIndex } from './session-times.ts';
import { type VisitKind, VisitQueues } from './visit-queues.ts';

export interface BlockHost {
  /** Called when the job gets the block, which it holds until `release`. */
  granted(job: number): void;
}

interface HotBlocksOptions {
  blocks: number;
  transferUs: number;
  visitsPerTurn: number;
  /** The order in which the jobs of an instance visit the block. */
  order: ClusterCosts['unsharded']['order'];
  /** Which work a transfer is. */
  transferBy: ClusterCosts['unsharded']['transferBy'];
}

/** The instance whose process manages the queue of lock requests: the one that was opened first. */
const lockServer = 0;

export class HotBlocks {
  readonly #kernel: Kernel;
  readonly #processors: Processors;
  readonly #sessionTimes: SessionTimes;
  readonly #layout: Layout;
  readonly #options: HotBlocksOptions;
  readonly #host: BlockHost;
  readonly #owner: Int32Array;
  readonly #taken: Uint8Array;
  /** Visits that the owner may still grant before the block moves. */
  readonly #visitsLeft: Int32Array;
  /** Waiting jobs by block and instance. */
  readonly #jobs: VisitQueues;
  /** Waiting instances by block: an instance is numbered once for each block, so that it may wait for several. */
  readonly #instances: JobLists;
  readonly #instanceWaits: Uint8Array;
  readonly #busyUs: Float64Array;
  readonly #since: Float64Array;
  /** Since when another instance waits for the owner's turn to end. */
  readonly #recalledAt: Float64Array;
  readonly #awaitsTurn: Uint8Array;
  transfers = 0;

  constructor(
    kernel: Kernel,
    processors: Processors,
    book: SessionTimes,
    layout: Layout,
    options: HotBlocksOptions,
    host: BlockHost,
  ) {
    this.#kernel = kernel;
    this.#processors = processors;
    this.#sessionTimes = book;
    this.#layout = layout;
    this.#options = options;
    this.#host = host;
    const pairs = options.blocks * layout.instances;
    this.#owner = new Int32Array(options.blocks);
    this.#taken = new Uint8Array(options.blocks);
    this.#visitsLeft = new Int32Array(options.blocks);
    this.#jobs = new VisitQueues({ queues: pairs, jobs: layout.jobs, order: options.order });
    this.#instances = new JobLists(options.blocks, pairs);
    this.#instanceWaits = new Uint8Array(pairs);
    this.#busyUs = new Float64Array(options.blocks);
    this.#since = new Float64Array(options.blocks);
    this.#recalledAt = new Float64Array(options.blocks);
    this.#awaitsTurn = new Uint8Array(options.blocks);
  }

  /** Ends in `granted(job)`. */
  request(block: number, kind: VisitKind, job: number): void {
    const instance = this.#layout.instanceOf[job]!;
    const pair = block * this.#layout.instances + instance;
    const wait = this.#owner[block] === instance ? stateIndex.bufferBusy : stateIndex.globalCache;
    this.#sessionTimes.enter(job, wait, this.#kernel.now);
    this.#jobs.push(pair, kind, job, this.#kernel.now);
    if (this.#owner[block] !== instance) {
      // The visit under way counts as one of the owner's turn, which ends now that another instance waits.
      if (this.#instances.length(block) === 0) this.#beginTurn(block, this.#options.visitsPerTurn - 1);
      this.#queueInstance(block, pair);
    }
    if (this.#taken[block] === 0 && this.#awaitsTurn[block] === 0) this.#grantNext(block);
  }

  /** A turn begins in the next turn of the event loop: sessions that can continue before then take part in it. */
  #awaitTurn(block: number): void {
    this.#awaitsTurn[block] = 1;
    this.#handle(block, this.#owner[block]!);
  }

  release(block: number): void {
    this.#taken[block] = 0;
    this.#busyUs[block] = this.#busyUs[block]! + this.#kernel.now - this.#since[block]!;
    this.#grantNext(block);
  }

  #queueInstance(block: number, pair: number): void {
    if (this.#instanceWaits[pair] !== 0) return;
    this.#instanceWaits[pair] = 1;
    this.#instances.push(block, pair);
  }

  /** Ends the owner's turn: jobs that arrive later wait for its next turn while other instances wait. */
  #beginTurn(block: number, visitsMax: number): void {
    const mine = block * this.#layout.instances + this.#owner[block]!;
    this.#visitsLeft[block] = Math.min(visitsMax, this.#jobs.length(mine));
    this.#recalledAt[block] = this.#kernel.now;
  }

  #take(block: number): void {
    this.#taken[block] = 1;
    this.#since[block] = this.#kernel.now;
  }

  #grantNext(block: number): void {
    const mine = block * this.#layout.instances + this.#owner[block]!;
    const othersWait = this.#instances.length(block) > 0;
    if (!othersWait) {
      if (this.#jobs.length(mine) === 0) return;
      if (this.#jobs.isTurnOver(mine)) this.#awaitTurn(block);
      else this.#grant(block, this.#jobs.shift(mine));
      return;
    }
    const recalledAt = this.#recalledAt[block]!;
    if (this.#visitsLeft[block]! > 0) {
      const job = this.#jobs.shiftAskedUpTo(mine, recalledAt);
      if (job >= 0) {
        this.#grant(block, job);
        return;
      }
    }
    if (this.#jobs.length(mine) > 0) this.#queueInstance(block, mine);
    this.#take(block);
    if (this.#options.transferBy === 'network') {
      this.#kernel.after(this.#options.transferUs, eventKinds.block, block);
      return;
    }
    // A release to the serving process, and a grant from it; a process sends none to itself.
    const viaServer = this.#owner[block] !== lockServer;
    this.#handle(block, viaServer ? lockServer : this.#nextInstance(block));
  }

  #grant(block: number, job: number): void {
    this.#take(block);
    this.#visitsLeft[block] = this.#visitsLeft[block]! - 1;
    this.#host.granted(job);
  }

  #nextInstance(block: number): number {
    return this.#instances.first(block) - block * this.#layout.instances;
  }

  /** A process handles a message about the lock. */
  #handle(block: number, instance: number): void {
    const job = this.#layout.firstTransfer + block;
    this.#layout.instanceOf[job] = instance;
    this.#layout.nodeOf[job] = instance % this.#layout.nodes;
    this.#processors.request(job, this.#processors.sessionThread(instance), priorities.eventLoopTurn);
  }

  /** CPU of handling a message about the lock. */
  demandOf(job: number): number {
    return this.#awaitsTurn[job - this.#layout.firstTransfer] === 1 ? 0 : this.#options.transferUs;
  }

  /** A process has handled its message: the next one is that of the receiver, if it was not that one. */
  burstEnded(job: number): void {
    const block = job - this.#layout.firstTransfer;
    const instance = this.#layout.instanceOf[job]!;
    const receiver = this.#nextInstance(block);
    this.#processors.releaseThread(this.#processors.sessionThread(instance));
    if (this.#awaitsTurn[block] === 1) {
      this.#awaitsTurn[block] = 0;
      if (this.#instances.length(block) > 0) this.#grantNext(block);
      else this.#grant(block, this.#jobs.shift(block * this.#layout.instances + instance));
      return;
    }
    if (instance === receiver) this.transferEnded(block);
    else this.#handle(block, receiver);
  }

  /** The transfer to the instance that waits longest has ended. */
  transferEnded(block: number): void {
    const pair = this.#instances.shift(block);
    this.#instanceWaits[pair] = 0;
    // Jobs that requested the block during the transfer belong to this turn.
    const left = block * this.#layout.instances + this.#owner[block]!;
    if (this.#jobs.length(left) > 0) this.#queueInstance(block, left);
    this.#owner[block] = pair - block * this.#layout.instances;
    this.#beginTurn(block, this.#options.visitsPerTurn);
    this.#visitsLeft[block] = this.#visitsLeft[block]! - 1;
    this.transfers += 1;
    this.#host.granted(this.#jobs.shiftAskedUpTo(pair, this.#kernel.now));
  }

  /** Largest share of the time that a block was being changed or moved. */
  use(elapsedUs: number): number {
    let most = 0;
    for (let block = 0; block < this.#taken.length; block++) {
      const open = this.#taken[block] !== 0 ? this.#kernel.now - this.#since[block]! : 0;
      most = Math.max(most, this.#busyUs[block]! + open);
    }
    return most / elapsedUs;
  }

  clear(): void {
    this.#busyUs.fill(0);
    this.#since.fill(this.#kernel.now);
    this.transfers = 0;
  }
}
