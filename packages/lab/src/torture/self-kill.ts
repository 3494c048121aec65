/** A process that ends itself by SIGKILL at a marked point: where a kill from outside would rarely hit. */
export type KillPoint = 'before the group' | 'group under way' | 'acknowledged';

export interface SelfKillPlan {
  point: KillPoint;
  /** At so many-th commit of the process. */
  commit: number;
}

export class SelfKill {
  readonly #plan: SelfKillPlan | undefined;
  #submitted = 0;
  #acknowledged = 0;

  constructor(plan: SelfKillPlan | undefined) {
    this.#plan = plan;
  }

  /** A commit was called: its group closes at the end of this turn, and is with the writer after that. */
  onSubmitted(): void {
    this.#submitted += 1;
    if (this.#plan === undefined || this.#submitted !== this.#plan.commit) return;
    if (this.#plan.point === 'before the group') die();
    if (this.#plan.point === 'group under way') setImmediate(die);
  }

  /** A commit was acknowledged to the caller, and nobody else knows. */
  onAcknowledged(): void {
    this.#acknowledged += 1;
    if (this.#plan?.point === 'acknowledged' && this.#acknowledged === this.#plan.commit) die();
  }
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}
