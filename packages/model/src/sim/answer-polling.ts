/**
 * CPU that session threads spend on polling for the writer's answers, as the engine does (`WriterAnswers`): while an answer is due and
 * the thread has nothing else to do, until the limit, and only as long as answers come before it. A poll takes no core from other work:
 * it is counted only if a core is free when it begins.
 */

/** The engine's limit `answerSpinMs`, µs. */
export const answerSpinUs = 500;

const notPolling = -1;

export class AnswerPolling {
  readonly #cpuUs: Float64Array;
  readonly #dueCount: Int32Array;
  /** Since when the oldest answer that is due has been the oldest. */
  readonly #dueSince: Float64Array;
  /** Whether the last answer came before the limit. */
  readonly #pays: Uint8Array;
  readonly #pollingSince: Float64Array;

  /** Adds the CPU time of each instance to `cpuUs`, microseconds. */
  constructor(cpuUs: Float64Array) {
    this.#cpuUs = cpuUs;
    this.#dueCount = new Int32Array(cpuUs.length);
    this.#dueSince = new Float64Array(cpuUs.length);
    this.#pays = new Uint8Array(cpuUs.length);
    this.#pollingSince = new Float64Array(cpuUs.length).fill(notPolling);
  }

  /** A group was sent to the writer. */
  expectAnswer(instance: number, now: number): void {
    this.#dueCount[instance] = this.#dueCount[instance]! + 1;
    if (this.#dueCount[instance] === 1) this.#dueSince[instance] = now;
  }

  answerArrived(instance: number, now: number): void {
    this.threadTaken(instance, now);
    this.#pays[instance] = now - this.#dueSince[instance]! < answerSpinUs ? 1 : 0;
    this.#dueSince[instance] = now;
    this.#dueCount[instance] = this.#dueCount[instance]! - 1;
  }

  /** The session thread has nothing to do. */
  threadFree(instance: number, now: number, hasFreeCore: boolean): void {
    if (hasFreeCore && this.#dueCount[instance]! > 0 && this.#pays[instance] !== 0)
      this.#pollingSince[instance] = now;
  }

  threadTaken(instance: number, now: number): void {
    const since = this.#pollingSince[instance]!;
    if (since === notPolling) return;
    this.#pollingSince[instance] = notPolling;
    const until = Math.min(now, this.#dueSince[instance]! + answerSpinUs);
    this.#cpuUs[instance] = this.#cpuUs[instance]! + Math.max(0, until - since);
  }
}
