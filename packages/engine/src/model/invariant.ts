/**
 * Assertions. A broken invariant is a bug of this program, and its state in memory can no longer be trusted: the instance
 * stops with `INVARIANT_BROKEN`. What is committed is safe in its file, and opening the instance rebuilds the state.
 */
import { QueueError } from '../api/errors.ts';

/** Also the error that the instance stops with, and that every later call gets. */
export class InvariantViolation extends QueueError {
  /** `broken`: what is wrong, as a sentence without its full stop. */
  constructor(broken: string) {
    super('INVARIANT_BROKEN', {
      message: `The engine found its own state inconsistent and stopped the instance: ${broken}. Open it again to recover, and report the error`,
    });
  }
}

/** Stops the instance. */
export type ViolationListener = (violation: InvariantViolation) => void;

/** For work that no caller waits for: a broken invariant has stopped the instance, and anything else is thrown again. */
export function ignoreViolation(error: unknown): void {
  if (!(error instanceof InvariantViolation)) throw error;
}

/** Lets work go on that no caller waits for. An unhandled rejection would end the process, in which other instances may be served. */
export function inBackground(work: Promise<unknown>): void {
  work.catch(ignoreViolation);
}

/**
 * Stops the instance, and only then throws: a `catch` on the way of the error cannot let the instance go on. Without a
 * listener there is no instance yet to be stopped, and the caller ends with the error.
 */
export function stopOn(
  violation: InvariantViolation,
  onInvariantBroken: ViolationListener | undefined,
): never {
  onInvariantBroken?.(violation);
  throw violation;
}
