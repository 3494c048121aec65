/** Sessions whose instance is moved out of the server during a call. */
import { QueueError } from '@shardlab/engine';
import { ServerError } from '../errors.ts';

/** `TOPOLOGY_CHANGING` for a session that was closed because its instance is being moved; any other error as it is. */
export function explainClosedSession(error: unknown): unknown {
  const isClosed = error instanceof QueueError && error.code === 'SESSION_CLOSED';
  return isClosed ? new ServerError('TOPOLOGY_CHANGING', { cause: error }) : error;
}
