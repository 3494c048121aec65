/**
 * Blocks of the global index of an unsharded queue, which all sessions change: one at a time, and only on the instance
 * that holds the block. Others request it and wait. The lock on the file of our unsharded queues is modelled the same way.
 */
import { JobLists } from './job-lists.ts';
import { eventKinds, type Kernel } from './kernel.ts';
import type { Layout } from './layout.ts';
import { type SessionTimes, stateIndex } from './session-times.ts';

export interface BlockHost {
  /** Called when the job gets the block, which it holds until `release`. */
  granted(job: number): void;
}

interface HotBlocksOptions {
  blocks: number;
  transferUs: number;
  visitsPerTurn: number;
}

export class HotBlocks {
  readonly #kernel: Kernel;
  readonly #sessionTimes: SessionTimes;
  readonly #layout: Layout;
  readonly #options: HotBlocksOptions;
  readonly #host: BlockHost;
  readonly #owner: Int32Array;
  readonly #taken: Uint8Array;
  /** Visits that the owner may still grant before the block moves. */
  readonly #visitsLeft: Int32Array;
  /** Waiting jobs by block and instance. */
  readonly #jobs: JobLists;
  /** Waiting instances by block: an instance is numbered once for each block, so that it may wait for several. */
  readonly #instances: JobLists;
  readonly #instanceWaits: Uint8Array;
  readonly #busyUs: Float64Array;
  readonly #since: Float64Array;
  transfers = 0;

  constructor(
    kernel: Kernel,
    book: SessionTimes,
    layout: Layout,
    options: HotBlocksOptions,
    host: BlockHost,
  ) {
    this.#kernel = kernel;
    this.#sessionTimes = book;
    this.#layout = layout;
    this.#options = options;
    this.#host = host;
    const pairs = options.blocks * layout.instances;
    this.#owner = new Int32Array(options.blocks);
    this.#taken = new Uint8Array(options.blocks);
    this.#visitsLeft = new Int32Array(options.blocks);
    this.#jobs = new JobLists(pairs, layout.jobs);
    this.#instances = new JobLists(options.blocks, pairs);
    this.#instanceWaits = new Uint8Array(pairs);
    this.#busyUs = new Float64Array(options.blocks);
    this.#since = new Float64Array(options.blocks);
  }

  /** Ends in `granted(job)`. */
  request(block: number, job: number): void {
    const instance = this.#layout.instanceOf[job]!;
    const pair = block * this.#layout.instances + instance;
    const wait = this.#owner[block] === instance ? stateIndex.bufferBusy : stateIndex.globalCache;
    this.#sessionTimes.enter(job, wait, this.#kernel.now);
    this.#jobs.push(pair, job);
    if (this.#owner[block] !== instance) {
      // The visit under way counts as one of the owner's turn, which ends now that another instance waits.
      if (this.#instances.length(block) === 0) this.#beginTurn(block, this.#options.visitsPerTurn - 1);
      this.#queueInstance(block, pair);
    }
    if (this.#taken[block] === 0) this.#grantNext(block);
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
  }

  #take(block: number): void {
    this.#taken[block] = 1;
    this.#since[block] = this.#kernel.now;
  }

  #grantNext(block: number): void {
    const mine = block * this.#layout.instances + this.#owner[block]!;
    const othersWait = this.#instances.length(block) > 0;
    if (this.#jobs.length(mine) > 0 && (!othersWait || this.#visitsLeft[block]! > 0)) {
      this.#take(block);
      this.#visitsLeft[block] = this.#visitsLeft[block]! - 1;
      this.#host.granted(this.#jobs.shift(mine));
      return;
    }
    if (!othersWait) return;
    if (this.#jobs.length(mine) > 0) this.#queueInstance(block, mine);
    this.#take(block);
    this.#kernel.after(this.#options.transferUs, eventKinds.block, block);
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
    this.#host.granted(this.#jobs.shift(pair));
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
