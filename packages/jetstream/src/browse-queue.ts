/** Pages through the messages of a queue, one request each to the leader of its stream. Nothing is consumed or held. */
import type { BrowsedMessage } from '@shardlab/engine';
import { QueueError } from '@shardlab/engine';
import { decodeMessage, dueAtMs } from './message-coding.ts';
import { toUnheld } from './message-view.ts';
import type { ServerLink } from './server-link.ts';
import { streamOf, subjectsOf } from './stream-names.ts';

const limitDefault = 100;
const limitMax = 1_000;

export interface BrowseOptions {
  limit?: number;
  after?: string;
  subscriber?: string;
  correlationId?: string;
  /** Consumed messages, which the servers do not keep. */
  processed?: boolean;
  bytesMax?: number;
  state?: BrowsedMessage['state'];
}

/** Messages that one call reads to find those in one state. */
const readMax = 10_000;

/** Browses in the order of the stream, which is the order of commits in each shard; it includes delayed messages. */
export async function browseQueue(
  link: ServerLink,
  queue: string,
  { limit = limitDefault, after = '0', correlationId, bytesMax, state: wanted }: BrowseOptions,
  isHeld: (sequence: number) => boolean,
): Promise<{ messages: BrowsedMessage[]; next: string | null }> {
  if (!Number.isInteger(limit) || limit < 1 || limit > limitMax) {
    throw new QueueError('OPTIONS_INVALID', {
      message: `limit must be a whole number from 1 to ${limitMax}`,
    });
  }
  if (!/^\d{1,15}$/.test(after))
    throw new QueueError('OPTIONS_INVALID', { message: 'after is no position of a page' });
  const messages: BrowsedMessage[] = [];
  const stream = streamOf(queue);
  let sequence = Number(after) + 1;
  let bytesLeft = bytesMax ?? Number.POSITIVE_INFINITY;
  for (let read = 0; messages.length < limit && (wanted === undefined || read < readMax); read += 1) {
    const query = { seq: sequence, next_by_subj: subjectsOf(queue) };
    const found = await link.call(() => link.manager.streams.getMessage(stream, query));
    if (found === null) return { messages, next: null };
    bytesLeft -= found.data.length;
    if (bytesLeft < 0 && messages.length > 0) return { messages, next: String(sequence - 1) };
    sequence = found.seq + 1;
    const stored = decodeMessage(found.header, found.data, {
      sequence: found.seq,
      storedAtMs: found.time.getTime(),
    });
    if (correlationId !== undefined && stored.correlationId !== correlationId) continue;
    const due = dueAtMs(found.header);
    const state = due !== undefined ? 'delayed' : isHeld(found.seq) ? 'held' : 'ready';
    if (wanted !== undefined && state !== wanted) continue;
    messages.push({
      ...toUnheld(stored),
      deliveryCount: 0, // the servers do not report it
      state,
      ...(due !== undefined && { untilMs: due }),
    });
  }
  return { messages, next: String(sequence - 1) };
}
