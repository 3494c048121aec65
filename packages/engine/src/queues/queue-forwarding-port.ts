/** What a queue tells its forwarding to other instances, where it has one. */
import type { LogId } from '../model/ids.ts';

export interface QueueForwardingPort {
  /** A call to dequeue got messages, or found none. */
  onDequeue(gotMessages: boolean): void;
  /** Messages may be ready, or a read of the backlog has ended. */
  onReady(): void;
  /** The queue got another log, for messages of another instance. */
  onLogAdded(logId: LogId): void;
}
