/**
 * The jobs of each instance that wait for a block. In the order "arrival" they are served first come first served. In the order
 * "alternating" a turn of all waiting deliveries is followed by one of all waiting commits, like the engine's write lock: a
 * dequeuer visits twice for each visit of an enqueuer, so by arrival it would reach only half the rate.
 */
import { JobLists } from './job-lists.ts';

/** Purpose of a visit: a delivery, which is not synced, or a commit. */
export const visitKinds = { delivery: 0, commit: 1 } as const;
export type VisitKind = (typeof visitKinds)[keyof typeof visitKinds];

export class VisitQueues {
  readonly #alternates: boolean;
  /** Two lists for each queue: deliveries, commits. By arrival only the first is used. */
  readonly #jobs: JobLists;
  /** For each queue: the kind of the current turn, and how many of its visits are left. */
  readonly #turnKind: Uint8Array;
  readonly #turnLeft: Int32Array;
  /** Arrival time of each waiting job. */
  readonly #askedAt: Float64Array;

  constructor(options: { queues: number; jobs: number; order: 'arrival' | 'alternating' }) {
    this.#alternates = options.order === 'alternating';
    this.#jobs = new JobLists(2 * options.queues, options.jobs);
    this.#turnKind = new Uint8Array(options.queues).fill(visitKinds.commit);
    this.#turnLeft = new Int32Array(options.queues);
    this.#askedAt = new Float64Array(options.jobs);
  }

  length(queue: number): number {
    return this.#jobs.length(2 * queue) + this.#jobs.length(2 * queue + 1);
  }

  push(queue: number, kind: VisitKind, job: number, now: number): void {
    this.#askedAt[job] = now;
    this.#jobs.push(2 * queue + (this.#alternates ? kind : 0), job);
  }

  /** Whether the next visit begins a turn, which all that ask until then belong to. */
  isTurnOver(queue: number): boolean {
    return this.#alternates && this.#turnLeft[queue] === 0;
  }

  /** Takes the job whose visit is next, or -1 of none. */
  shift(queue: number): number {
    if (!this.#alternates) return this.#jobs.shift(2 * queue);
    if (this.#turnLeft[queue] === 0) this.#beginTurn(queue);
    this.#turnLeft[queue] = Math.max(0, this.#turnLeft[queue]! - 1);
    return this.#jobs.shift(2 * queue + this.#turnKind[queue]!);
  }

  /** Takes the next job that arrived up to `askedAt`, deliveries first; -1 if there is none. */
  shiftAskedUpTo(queue: number, askedAt: number): number {
    for (const list of [2 * queue, 2 * queue + 1]) {
      const job = this.#jobs.first(list);
      if (job >= 0 && this.#askedAt[job]! <= askedAt) {
        this.#turnLeft[queue] = 0;
        this.#turnKind[queue] = visitKinds.commit;
        return this.#jobs.shift(list);
      }
    }
    return -1;
  }

  /** All waiting jobs belong to the turn; jobs that arrive during it wait for the next turn of their kind. */
  #beginTurn(queue: number): void {
    const other = this.#turnKind[queue] === visitKinds.commit ? visitKinds.delivery : visitKinds.commit;
    const otherWaits = this.#jobs.length(2 * queue + other) > 0;
    if (otherWaits) this.#turnKind[queue] = other;
    this.#turnLeft[queue] = this.#jobs.length(2 * queue + this.#turnKind[queue]!);
  }
}
