/** The errors that an instance stops with when it can no longer commit. */
import { QueueError } from '../api/errors.ts';
import { InvariantViolation } from '../model/invariant.ts';

/** The error that ends the instance after an exception that nothing handles. */
export function stopReason(error: unknown): QueueError {
  if (error instanceof InvariantViolation) return error;
  const message = `The instance stopped after an unexpected error: ${String(error)}`;
  return new QueueError('INSTANCE_FAILED', { message, cause: error });
}

/** The error with which every later call rejects after this failure. */
export function instanceFailed(cause: QueueError): QueueError {
  if (cause.code === 'INSTANCE_FAILED' || cause.code === 'INSTANCE_FENCED') return cause;
  if (cause.code === 'INVARIANT_BROKEN') return cause;
  return new QueueError('INSTANCE_FAILED', {
    message: `The instance stopped: ${cause.message}. Open it again to recover; only then is it known whether commits under way are durable`,
    details: { cause: cause.code, ...cause.details },
    cause,
  });
}
