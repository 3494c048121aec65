/** Notifications from a queue to its forwarding, if it forwards to other instances. */
import type { LogId } from '../model/ids.ts';

export interface QueueForwardingPort {
  /** A call to dequeue got messages, or found none. */
  onDequeue(gotMessages: boolean): void;
  /** Messages may be ready, or a read of the backlog has ended. */
  onReady(): void;
  /** The queue got another log, for messages of another instance. */
  onLogAdded(logId: LogId): void;
}
