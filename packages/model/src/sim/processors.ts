/**
 * Threads and cores. A job's *burst* of CPU first takes its thread, if it has one, then a core of its node, each first
 * come first served. The thread stays taken until `releaseThread`: a writer keeps it during a sync, when it needs no core.
 *
 * A thread keeps its core from burst to burst while it has work, as under an operating system: until it has none, or
 * until its time slice is over and other threads wait, which then take turns. Slices end between bursts only, because a
 * burst is much shorter. With a slice of 0, and for jobs without a thread, the core is free after each burst.
 */
import type { ClusterCosts } from './costs.ts';
import { JobLists } from './job-lists.ts';
import { eventKinds, type Kernel } from './kernel.ts';
import type { Layout } from './layout.ts';
import { type SessionTimes, stateIndex } from './session-times.ts';

export interface BurstHost {
  /** Duration in µs of a burst that begins now; its work is decided now, not when the burst was requested. */
  demandOf(job: number): number;
}

/**
 * The order in which a thread turns to its jobs, as in Node: the write lock of our unsharded queues serves all that wait in one go,
 * sessions continue before the turn of the event loop ends, and groups and messages of other processes are handled in turns of their own.
 */
export const priorities = { lockedWrite: 0, continuation: 1, eventLoopTurn: 2 } as const;
type Priority = (typeof priorities)[keyof typeof priorities];
const priorityCount = Object.keys(priorities).length;

/** A job that may run on any core. */
export const noThread = -1;

const notRunning = -1;

export class Processors {
  readonly #kernel: Kernel;
  readonly #sessionTimes: SessionTimes;
  readonly #host: BurstHost;
  readonly #layout: Layout;
  readonly #cores: number;
  /** How much longer a burst takes, by the number of cores busy with it. */
  readonly #slowdown: Float64Array;
  readonly #backgroundCpu: number;
  readonly #busyCores: Int32Array;
  readonly #coreQueues: JobLists;
  readonly #threadTaken: Uint8Array;
  /** For each thread a list of each priority. */
  readonly #threadQueues: JobLists;
  /** CPU of each instance and time that each thread was taken, microseconds. */
  readonly cpuUs: Float64Array;
  readonly threadUs: Float64Array;
  readonly #threadSince: Float64Array;
  readonly #runningSince: Float64Array;
  /** Background work of each burst that other cores do, for each µs of it. */
  readonly #elsewhere: Float64Array;
  /** The thread of each job that requested a burst. */
  readonly #threadOf: Int32Array;
  readonly #sliceUs: number;
  /** When each thread last got a core. */
  readonly #sliceSince: Float64Array;
  /** The thread whose burst ended in this event and that has its core until `releaseKeptCore`, or `noThread`. */
  #keeping = noThread;
  #keepingNode = 0;

  constructor(
    kernel: Kernel,
    book: SessionTimes,
    layout: Layout,
    machine: ClusterCosts['machine'],
    host: BurstHost,
  ) {
    this.#kernel = kernel;
    this.#sessionTimes = book;
    this.#layout = layout;
    this.#host = host;
    const cores = machine.coresPerNode;
    this.#cores = cores;
    this.#slowdown = slowdownByBusyCores(machine);
    this.#backgroundCpu = machine.backgroundCpu;
    this.#busyCores = new Int32Array(layout.nodes);
    this.#coreQueues = new JobLists(layout.nodes, layout.jobs);
    const threads = 2 * layout.instances;
    this.#threadTaken = new Uint8Array(threads);
    this.#threadQueues = new JobLists(threads * priorityCount, layout.jobs);
    this.cpuUs = new Float64Array(layout.instances);
    this.threadUs = new Float64Array(threads);
    this.#threadSince = new Float64Array(threads);
    this.#runningSince = new Float64Array(layout.jobs).fill(notRunning);
    this.#elsewhere = new Float64Array(layout.jobs);
    this.#threadOf = new Int32Array(layout.jobs).fill(noThread);
    this.#sliceUs = machine.sliceUs;
    this.#sliceSince = new Float64Array(threads);
  }

  sessionThread(instance: number): number {
    return 2 * instance;
  }

  writerThread(instance: number): number {
    return 2 * instance + 1;
  }

  /** Ends in an event of kind `burst` for the job. A thread turns to a job only when it has none that comes before it by `priorities`. */
  request(job: number, thread: number, priority: Priority = priorities.continuation): void {
    this.#sessionTimes.enter(job, stateIndex.cpuQueue, this.#kernel.now);
    this.#threadOf[job] = thread;
    if (thread !== noThread) {
      if (this.#threadTaken[thread] !== 0) {
        this.#threadQueues.push(thread * priorityCount + priority, job);
        return;
      }
      this.#threadTaken[thread] = 1;
      this.#threadSince[thread] = this.#kernel.now;
    }
    this.#takeCore(job);
  }

  #takeCore(job: number): void {
    const node = this.#layout.nodeOf[job]!;
    const thread = this.#threadOf[job]!;
    if (thread !== noThread && thread === this.#keeping) {
      this.#keeping = noThread;
      const sliceOver = this.#kernel.now - this.#sliceSince[thread]! >= this.#sliceUs;
      if (!sliceOver || this.#coreQueues.length(node) === 0) {
        this.#start(job, node);
        return;
      }
      this.#coreQueues.push(node, job);
      this.#giveCore(node);
      return;
    }
    if (this.#busyCores[node]! >= this.#cores) {
      this.#coreQueues.push(node, job);
      return;
    }
    this.#busyCores[node] = this.#busyCores[node]! + 1;
    this.#beginSlice(job);
    this.#start(job, node);
  }

  #beginSlice(job: number): void {
    const thread = this.#threadOf[job]!;
    if (thread !== noThread) this.#sliceSince[thread] = this.#kernel.now;
  }

  #start(job: number, node: number): void {
    this.#sessionTimes.enter(job, stateIndex.running, this.#kernel.now);
    this.#runningSince[job] = this.#kernel.now;
    const busy = this.#busyCores[node]!;
    this.#elsewhere[job] = this.#backgroundCpu * (1 - loadOf(busy, this.#cores));
    this.#kernel.after(this.#host.demandOf(job) * this.#slowdown[busy]!, eventKinds.burst, job);
  }

  #account(job: number): void {
    const instance = this.#layout.instanceOf[job]!;
    const us = (this.#kernel.now - this.#runningSince[job]!) * (1 + this.#elsewhere[job]!);
    this.cpuUs[instance] = this.cpuUs[instance]! + us;
  }

  /** Call it first when a burst has ended, and `releaseKeptCore` after everything that follows from that end. */
  releaseCore(job: number): void {
    this.#account(job);
    this.#runningSince[job] = notRunning;
    const node = this.#layout.nodeOf[job]!;
    const thread = this.#threadOf[job]!;
    if (this.#sliceUs > 0 && thread !== noThread) {
      this.#keeping = thread;
      this.#keepingNode = node;
    } else this.#giveCore(node);
  }

  /** Call it when everything that follows from a burst's end is done: a thread without further work gives up its core. */
  releaseKeptCore(): void {
    if (this.#keeping === noThread) return;
    this.#keeping = noThread;
    this.#giveCore(this.#keepingNode);
  }

  #giveCore(node: number): void {
    const next = this.#coreQueues.shift(node);
    if (next >= 0) {
      this.#beginSlice(next);
      this.#start(next, node);
    } else this.#busyCores[node] = this.#busyCores[node]! - 1;
  }

  releaseThread(thread: number): void {
    if (thread === noThread) return;
    const next = this.#nextOf(thread);
    if (next >= 0) {
      this.#takeCore(next);
      return;
    }
    this.#threadTaken[thread] = 0;
    this.threadUs[thread] = this.threadUs[thread]! + this.#kernel.now - this.#threadSince[thread]!;
  }

  #nextOf(thread: number): number {
    for (let priority = 0; priority < priorityCount; priority++) {
      const job = this.#threadQueues.shift(thread * priorityCount + priority);
      if (job >= 0) return job;
    }
    return -1;
  }

  clear(): void {
    this.accountRunning();
    this.cpuUs.fill(0);
    this.threadUs.fill(0);
  }

  /** Adds what is under way, so that `cpuUs` and `threadUs` are true up to now. */
  accountRunning(): void {
    const { now } = this.#kernel;
    for (let job = 0; job < this.#runningSince.length; job++) {
      if (this.#runningSince[job] === notRunning) continue;
      this.#account(job);
      this.#runningSince[job] = now;
    }
    for (let thread = 0; thread < this.threadUs.length; thread++) {
      if (this.#threadTaken[thread] === 0) continue;
      this.threadUs[thread] = this.threadUs[thread]! + now - this.#threadSince[thread]!;
      this.#threadSince[thread] = now;
    }
  }
}

/**
 * If one core is busy, background work finds another one. If all are busy, it takes time from them, and they also run at
 * `busyCoreSpeed`. In between the slowdown is proportional.
 */
function slowdownByBusyCores({
  coresPerNode,
  busyCoreSpeed,
  backgroundCpu,
}: ClusterCosts['machine']): Float64Array {
  const most = (1 + backgroundCpu) / busyCoreSpeed;
  return Float64Array.from(
    { length: coresPerNode + 1 },
    (_, busy) => 1 + (most - 1) * loadOf(busy, coresPerNode),
  );
}

/** 0 with one core busy, 1 with all. */
function loadOf(busy: number, cores: number): number {
  return cores === 1 ? 1 : Math.max(0, busy - 1) / (cores - 1);
}
