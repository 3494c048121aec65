/** Enqueuers that are held back while too many messages of their place wait, as those of the lab's trials are. */
import type { Backlog } from './backlog.ts';
import { JobLists } from './job-lists.ts';

export class FlowControl {
  readonly #backlog: Backlog;
  /** Of one place. */
  readonly #backlogMax: number;
  readonly #heldBack: JobLists;

  constructor(backlog: Backlog, options: { places: number; jobs: number; backlogMax: number }) {
    this.#backlog = backlog;
    this.#backlogMax = options.backlogMax;
    this.#heldBack = new JobLists(options.places, options.jobs);
  }

  /** Whether a new transaction of the job must wait; it then does, until `relieve` names it. */
  holdsBack(place: number, job: number): boolean {
    if (!this.#isFull(place)) return false;
    this.#heldBack.push(place, job);
    return true;
  }

  #isFull(place: number): boolean {
    return (
      this.#backlogMax !== Number.POSITIVE_INFINITY && this.#backlog.unconsumed(place) >= this.#backlogMax
    );
  }

  /** A job that may go on since messages were consumed, or -1. */
  relieve(place: number): number {
    return this.#heldBack.length(place) === 0 || this.#isFull(place) ? -1 : this.#heldBack.shift(place);
  }
}
