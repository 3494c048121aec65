/**
 * The life of a message for one subscriber. A topic's message has one such life per subscriber, a queue's message has one.
 * Each command is looked up once for a run of messages that share a state: `commit` and `skipGap` by `MessageLog`, which moves
 * its end over whole ranges, the others by `LogCursor` and its `CursorDeliveries`.
 *
 *     uncommitted  its number is not part of a durable group
 *     ready        committed, never delivered by this instance
 *     held         delivered to a session or, while it is being forwarded, to another instance; not settled
 *     returned     delivered before; it is the next to be delivered again
 *     paused       returned, and waiting for its retry delay
 *     terminal     consumed, not addressed to this subscriber, or a number that never became a message
 *
 * Of these, `held` and the states after it are per delivery, the others follow from the cursor's position and its watermark,
 * which recovery reads from the file. `evacuated` is not a state: it says where a message's record is stored, not what may happen
 * to the message.
 */
import { TransitionTable } from './transition-table.ts';

export type MessageState = 'uncommitted' | 'ready' | 'held' | 'returned' | 'paused' | 'terminal';

export type MessageCommand =
  /** Its group is durable. */
  | 'commit'
  /** Its group failed. */
  | 'skipGap'
  /** It is addressed to other subscribers. */
  | 'passOver'
  /** It is given to a session, for the first time or again, or taken to be forwarded. */
  | 'deliver'
  /** It was forwarded before the instance opened, and whether it arrived is not known yet. */
  | 'holdUnread'
  /** The delivery ended without a commit, and counts. */
  | 'nack'
  /** The delivery ended before any consumer saw the message, and does not count. */
  | 'cancelDelivery'
  | 'pause'
  /** The retry delay is over. */
  | 'resume'
  /** The commit that consumes it is durable: by a session, by forwarding it, or by moving it to the exception queue. */
  | 'consume'
  /** Its record was copied out of its partition, so that this can be truncated. */
  | 'evacuate'
  /** At recovery: the file has its record outside of its partition. */
  | 'recoverEvacuated';

export const messageLife = new TransitionTable<MessageState, MessageCommand>('a message', {
  uncommitted: { commit: 'ready', skipGap: 'terminal' },
  ready: { passOver: 'terminal', deliver: 'held', holdUnread: 'held' },
  held: {
    nack: 'returned',
    cancelDelivery: 'returned',
    pause: 'paused',
    consume: 'terminal',
    evacuate: 'held',
  },
  returned: { deliver: 'held', holdUnread: 'held', evacuate: 'returned' },
  paused: { resume: 'held', evacuate: 'paused' },
  terminal: { recoverEvacuated: 'returned' },
});
