/** Simulated time: the next event, and seeded random numbers. */
import { Random } from '../statistics/random.ts';
import { EventHeap } from './event-heap.ts';

/** Kinds of events: the end of a step of a job or a block, or of a session's wait for more messages. */
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
  /** Kind of the event that `next` found. */
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

  /** Advances to the next event and stores it in `kind` and `index`; false if there is none up to that time. */
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
