/** Lets a process kill itself with SIGKILL at a defined point that a kill from outside would rarely hit. */
export type KillPoint = 'before the group' | 'group under way' | 'acknowledged';

export interface SelfKillPlan {
  point: KillPoint;
  /** The commit of the process at which it kills itself, from 1. */
  commit: number;
}

export class SelfKill {
  readonly #plan: SelfKillPlan | undefined;
  #submitted = 0;
  #acknowledged = 0;

  constructor(plan: SelfKillPlan | undefined) {
    this.#plan = plan;
  }

  /** Call it after `commit()`: its group closes at the end of this event-loop turn and then goes to the writer. */
  onSubmitted(): void {
    this.#submitted += 1;
    if (this.#plan === undefined || this.#submitted !== this.#plan.commit) return;
    if (this.#plan.point === 'before the group') die();
    if (this.#plan.point === 'group under way') setImmediate(die);
  }

  /** Call it when a commit was acknowledged, before that is recorded. */
  onAcknowledged(): void {
    this.#acknowledged += 1;
    if (this.#plan?.point === 'acknowledged' && this.#acknowledged === this.#plan.commit) die();
  }
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}
