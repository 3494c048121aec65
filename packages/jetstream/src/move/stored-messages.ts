/** All messages of a queue as its stream has them, for a move: nothing is consumed or held. */
import type { MsgHdrs } from '@nats-io/transport-node';
import { decodeMessage, type StoredMessage } from '../message-coding.ts';
import type { ServerLink } from '../server-link.ts';
import { streamOf, subjectsOf } from '../stream-names.ts';

export interface StoredEntry {
  sequence: number;
  subject: string;
  headers: MsgHdrs | undefined;
  stored: StoredMessage;
}

/**
 * Reads the messages in the order of the stream, each id once: a delayed message that becomes due during the iteration is stored
 * again behind the others. One request for each message.
 */
export async function* storedMessages(link: ServerLink, queue: string): AsyncGenerator<StoredEntry> {
  const stream = streamOf(queue);
  const ids = new Set<string>();
  for (let next = 1; ; ) {
    const query = { seq: next, next_by_subj: subjectsOf(queue) };
    const found = await link.call(() => link.manager.streams.getMessage(stream, query));
    if (found === null) return;
    next = found.seq + 1;
    const place = { sequence: found.seq, storedAtMs: found.time.getTime() };
    const stored = decodeMessage(found.header, found.data, place);
    if (ids.has(stored.id)) continue;
    ids.add(stored.id);
    yield { sequence: found.seq, subject: found.subject, headers: found.header, stored };
  }
}
