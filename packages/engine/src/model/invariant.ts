/**
 * Assertions. A broken invariant is a bug of this program, and its state in memory can no longer be trusted: the instance
 * stops with `INVARIANT_BROKEN`. What is committed is safe in its file, and opening the instance rebuilds the state.
 */
import { QueueError } from '../api/errors.ts';

export class InvariantViolation extends Error {
  override readonly name = 'InvariantViolation';
}

/** Throws an `InvariantViolation` unless the condition holds. Only a failed check calls `describe`. */
export function invariant(condition: boolean, describe: () => string): asserts condition {
  if (!condition) throw new InvariantViolation(describe());
}

/** The error that an instance stops with. */
export function invariantBroken(violation: InvariantViolation): QueueError {
  return new QueueError('INVARIANT_BROKEN', {
    message: `The engine found its own state inconsistent and stopped the instance: ${violation.message}. Open it again to recover, and report the error`,
    cause: violation,
  });
}
