/** Simulated time: the next event, and seeded random numbers. */
import { Random } from '../statistics/random.ts';
import { EventHeap } from './event-heap.ts';

/** What an event tells: the end of something that a job, or a block, went through; or of a session's patience. */
export const eventKinds = {
  delay: 0,
  burst: 1,
  block: 2,
  patience: 3,
} as const;

const kindBits = 2;

export class Kernel {
  readonly random: Random;
  readonly #heap: EventHeap;
  /** Microseconds since the start. */
  now = 0;
  events = 0;
  /** What `next` found. */
  kind = 0;
  index = 0;

  constructor(seed: number, capacity: number) {
    this.random = new Random(seed);
    this.#heap = new EventHeap(capacity);
  }

  after(delayUs: number, kind: number, index: number): void {
    this.#heap.push(this.now + delayUs, (index << kindBits) | kind);
  }

  /** Whether anything is left to happen. */
  get isIdle(): boolean {
    return this.#heap.size === 0;
  }

  /** Goes to the next event and leaves it in `kind` and `index`; false if there is none up to that time. */
  next(untilUs: number): boolean {
    if (this.#heap.nextAt > untilUs) return false;
    const code = this.#heap.pop();
    if (code < 0) return false;
    this.now = this.#heap.poppedAt;
    this.kind = code & ((1 << kindBits) - 1);
    this.index = code >> kindBits;
    this.events += 1;
    return true;
  }
}
