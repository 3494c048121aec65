/** Pauses enqueuers while the backlog of their place is too large, like flow control in the lab's trials. */
import type { Backlog } from './backlog.ts';
import { JobLists } from './job-lists.ts';

export class FlowControl {
  readonly #backlog: Backlog;
  /** Bound of one place's backlog. */
  readonly #backlogMax: number;
  readonly #blocked: JobLists;

  constructor(backlog: Backlog, options: { places: number; jobs: number; backlogMax: number }) {
    this.#backlog = backlog;
    this.#backlogMax = options.backlogMax;
    this.#blocked = new JobLists(options.places, options.jobs);
  }

  /** Whether a new transaction of the job must wait. It then waits until `relieve` returns it. */
  blockIfFull(place: number, job: number): boolean {
    if (!this.#isFull(place)) return false;
    this.#blocked.push(place, job);
    return true;
  }

  #isFull(place: number): boolean {
    return (
      this.#backlogMax !== Number.POSITIVE_INFINITY && this.#backlog.unconsumed(place) >= this.#backlogMax
    );
  }

  /** A paused job that can continue because messages were consumed, or -1. */
  takeResumable(place: number): number {
    return this.#blocked.length(place) === 0 || this.#isFull(place) ? -1 : this.#blocked.shift(place);
  }
}
