/** Pages through the messages of unsharded queues without delivering them. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { Timers } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { BrowsedPage, BrowseOptions, QueueBrowser } from '../queues/queue-engine.ts';
import { readContent } from '../queues/record-content.ts';
import type { TimedHolds } from '../queues/timed-holds.ts';
import type { BrowsedRow, BrowseMark } from '../storage/unsharded/browse-rows.ts';
import { heldKey, type MessageConsumer } from '../storage/unsharded/message-consumer.ts';
import type { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import type { UnshardedDelivery } from './unsharded-delivery.ts';
import { throwStreamUnsupported } from './unsharded-message.ts';
import type { UnshardedTopics } from './unsharded-topics.ts';

export interface UnshardedBrowserOptions {
  file: LazyUnshardedFile;
  holds: TimedHolds<UnshardedDelivery>;
  topics: UnshardedTopics;
  timers: Timers;
}

export class UnshardedBrowser implements QueueBrowser {
  readonly #options: UnshardedBrowserOptions;

  constructor(options: UnshardedBrowserOptions) {
    this.#options = options;
  }

  async browse(
    queue: QueueRow,
    { subscriber, ...options }: BrowseOptions & { subscriber: string | undefined },
  ): Promise<BrowsedPage> {
    const { holds, topics } = this.#options;
    const consumer = { queueId: queue.queueId, subscriber: topics.subscriberOf(queue, subscriber) };
    const { rows: shown, next } = await this.#find(consumer, options);
    const held = new Map<string, BrowsedMessage>();
    const messages = shown.map(({ id, heldBy, deliveryCount, record, recipient }) => {
      const state = stateOf({ heldBy });
      const content = readContent(record, 0, throwStreamUnsupported);
      const message: BrowsedMessage = { id: String(id), ...content, deliveryCount, state };
      if (state === 'held') held.set(heldKey({ ...consumer, id, recipient }), message);
      return message;
    });
    // Only holds of this instance: the file does not contain the expiry of others.
    for (const { delivery, untilMs } of held.size === 0 ? [] : holds.expiring()) {
      const message = held.get(heldKey(delivery));
      if (message !== undefined) message.untilMs = untilMs;
    }
    return { messages, next };
  }

  #read(consumer: MessageConsumer, mark: BrowseMark, limit: number): BrowsedRow[] {
    const { opened } = this.#options.file;
    return consumer.subscriber === 0
      ? opened.browse(consumer.queueId, mark.id, limit)
      : opened.browseTopic(consumer, mark, limit);
  }

  /** Reads until the page is full. There is no index on correlation ids or states, so it yields to other calls in between. */
  async #find(
    consumer: MessageConsumer,
    { limit, after, key, bytesMax, state }: Omit<BrowseOptions, 'processed'>,
  ): Promise<{ rows: BrowsedRow[]; next: string | null }> {
    const isSearch = key !== undefined || state !== undefined;
    const perTurn = isSearch ? limits.searchRowsPerTurn : limit + 1;
    const perRead =
      bytesMax === undefined ? perTurn : Math.min(perTurn, Math.ceil(bytesMax / limits.payloadBytesMax));
    const rows: BrowsedRow[] = [];
    let bytesLeft = bytesMax ?? Number.POSITIVE_INFINITY;
    let last: BrowsedRow | undefined;
    let read = 0;
    for (let mark = readMark(after); ; await this.#nextTurn()) {
      const some = this.#read(consumer, mark, perRead);
      for (const row of some) {
        const bytes = row.record.byteLength;
        const isFull = rows.length === limit || (rows.length > 0 && bytes > bytesLeft);
        if (isFull || (state !== undefined && read === limits.browseReadMax))
          return { rows, next: writeMark(last!) };
        last = row;
        read += 1;
        if (key?.matches(row.record, 0) === false) continue;
        if (state !== undefined && stateOf(row) !== state) continue;
        rows.push(row);
        bytesLeft -= bytes;
      }
      if (some.length < perRead) return { rows, next: null };
      mark = markOf(last!);
    }
  }

  #nextTurn(): Promise<void> {
    return new Promise((resume) => this.#options.timers.nextTurn(resume));
  }
}

const stateOf = ({ heldBy }: Pick<BrowsedRow, 'heldBy'>) => (heldBy === 0 ? 'ready' : 'held');

function markOf({ id, recipient }: BrowsedRow): BrowseMark {
  return { rank: recipient?.rank ?? 0, id };
}

/** `<id>` of a queue's message, `<rank>.<id>` of a topic's. */
function writeMark(row: BrowsedRow): string {
  const { rank, id } = markOf(row);
  return row.recipient === undefined ? `${id}` : `${rank}.${id}`;
}

/** Without a mark, in front of all. Throws `OPTIONS_INVALID`. */
function readMark(after: string | undefined): BrowseMark {
  if (after === undefined) return { rank: 0, id: 0 };
  const [, rank = '0', id] = /^(?:(\d)\.)?(\d{1,16})$/.exec(after) ?? [];
  if (id === undefined || !Number.isSafeInteger(Number(id)))
    throw new QueueError('OPTIONS_INVALID', {
      message: '`after` must be the `next` of an earlier page of this queue',
    });
  return { rank: Number(rank), id: Number(id) };
}
