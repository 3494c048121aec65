/** Errors of the engine in the codes of the XA specification. */
import { QueueError, type QueueErrorCode } from '../api/errors.ts';
import { xaCodes } from '../api/xa.ts';

/** After these errors the instance must be opened again; that determines the outcome of writes under way. */
const instanceEnds: ReadonlySet<QueueErrorCode> = new Set([
  'INSTANCE_CLOSED',
  'INSTANCE_FAILED',
  'INSTANCE_FENCED',
  'INSTANCE_UNREACHABLE',
  'INVARIANT_BROKEN',
]);

/** `code`, or `XAER_RMFAIL` if the instance has ended. The cause is kept; what is no `QueueError` is returned as it is. */
export function xaError(cause: unknown, code: QueueErrorCode): unknown {
  if (!(cause instanceof QueueError) || cause.code in xaCodes) return cause;
  const own = instanceEnds.has(cause.code) ? 'XAER_RMFAIL' : code;
  return new QueueError(own, {
    cause,
    message: cause.message,
    details: { ...cause.details, cause: cause.code },
  });
}
