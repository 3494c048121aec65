/** Messages between the processes of a trial about a backlog that they share. */
import type { WorkerProcess } from './worker-process.ts';

type Worker = Pick<WorkerProcess, 'send'>;

/** Each instance is sent its share of the whole: see `BacklogGate.setShare`. */
export class BacklogShares {
  readonly #workers: readonly Worker[];
  readonly #reported = new Map<number, number>();

  /** `workers`: one for each instance; they may be added later. */
  constructor(workers: readonly Worker[]) {
    this.#workers = workers;
  }

  /** An instance has reported how many messages more it has enqueued than consumed. */
  update(instance: number, messages: number): void {
    this.#reported.set(instance, messages);
    const backlog = [...this.#reported.values()].reduce((sum, each) => sum + each, 0);
    const share = Math.max(0, Math.round(backlog / this.#workers.length));
    for (const worker of this.#workers) worker.send({ type: 'backlogShare', messages: share });
  }
}
