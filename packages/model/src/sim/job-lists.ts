/**
 * First-in-first-out lists of jobs, linked through one array: a job waits in at most one of the lists at a time, so
 * nothing is allocated however long they grow.
 */
export class JobLists {
  readonly #next: Int32Array;
  readonly #head: Int32Array;
  readonly #tail: Int32Array;
  readonly #length: Int32Array;

  constructor(lists: number, jobs: number) {
    this.#next = new Int32Array(jobs);
    this.#head = new Int32Array(lists).fill(-1);
    this.#tail = new Int32Array(lists).fill(-1);
    this.#length = new Int32Array(lists);
  }

  length(list: number): number {
    return this.#length[list]!;
  }

  push(list: number, job: number): void {
    this.#next[job] = -1;
    const tail = this.#tail[list]!;
    if (tail < 0) this.#head[list] = job;
    else this.#next[tail] = job;
    this.#tail[list] = job;
    this.#length[list] = this.#length[list]! + 1;
  }

  /** The job that waits longest, or -1 of none; it stays. */
  first(list: number): number {
    return this.#head[list]!;
  }

  /** Takes the job that waits longest, or -1 of none. */
  shift(list: number): number {
    const job = this.#head[list]!;
    if (job < 0) return -1;
    const next = this.#next[job]!;
    this.#head[list] = next;
    if (next < 0) this.#tail[list] = -1;
    this.#length[list] = this.#length[list]! - 1;
    return job;
  }

  /** Takes a job out of the middle; it must be in the list. Walks the list. */
  remove(list: number, job: number): void {
    if (this.#head[list] === job) {
      this.shift(list);
      return;
    }
    let before = this.#head[list]!;
    while (this.#next[before] !== job) before = this.#next[before]!;
    this.#next[before] = this.#next[job]!;
    if (this.#tail[list] === job) this.#tail[list] = before;
    this.#length[list] = this.#length[list]! - 1;
  }
}
