/** Administrative calls: rare, so their arguments and results travel as JSON. The server answers them from an `Instance`. */

import type { Instance } from '../api/instance.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { WaitStats } from '../api/waits.ts';
import type { ChunkedPayload } from '../model/message-record.ts';

/** A browsed message with its payload as base64. A payload in chunks is empty here; the client reads it from `chunked`. */
export type WireBrowsedMessage = Omit<BrowsedMessage, 'payload' | 'payloadStream'> & {
  payload: string;
  chunked?: ChunkedPayload;
};

/** Methods of an instance that are called as they are. */
type InstanceMethods = Pick<
  Instance,
  | 'createQueue'
  | 'dropQueue'
  | 'startQueue'
  | 'stopQueue'
  | 'queues'
  | 'queue'
  | 'subscribe'
  | 'unsubscribe'
  | 'subscribers'
  | 'stats'
  | 'queueStats'
  | 'services'
  | 'callService'
  | 'messageTrace'
  | 'tracedMessages'
  | 'traceNext'
  | 'probe'
>;

/** All administrative calls, by their names on the wire. */
export interface AdminCalls extends InstanceMethods {
  waits(): WaitStats[];
  /** A page may have fewer messages than the limit: it must fit one answer. */
  browse(
    ...args: Parameters<Instance['browse']>
  ): Promise<{ messages: WireBrowsedMessage[]; next: string | null }>;
}

export type AdminCall = keyof AdminCalls;
export type AdminArguments<C extends AdminCall> = Parameters<AdminCalls[C]>;
export type AdminResult<C extends AdminCall> = Awaited<ReturnType<AdminCalls[C]>>;
