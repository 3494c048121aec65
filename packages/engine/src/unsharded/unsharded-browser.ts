/** Pages through the messages of unsharded queues without delivering them. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { CorrelationKey } from '../model/correlation-key.ts';
import type { Timers } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { BrowsedPage, BrowseOptions, QueueBrowser } from '../queues/queue-engine.ts';
import { readContent } from '../queues/record-content.ts';
import type { TimedHolds } from '../queues/timed-holds.ts';
import type { BrowsedRow, BrowseMark } from '../storage/unsharded/browse-rows.ts';
import { heldKey, type MessageConsumer } from '../storage/unsharded/message-consumer.ts';
import type { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import { throwStreamUnsupported } from './unsharded-message.ts';
import type { UnshardedTopics } from './unsharded-topics.ts';
import type { UnshardedDelivery } from './unsharded-transaction.ts';

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
    { limit, after, key, subscriber }: BrowseOptions & { subscriber: string | undefined },
  ): Promise<BrowsedPage> {
    const { holds, topics } = this.#options;
    const consumer = { queueId: queue.queueId, subscriber: topics.subscriberOf(queue, subscriber) };
    const mark = readMark(after);
    const rows =
      key === undefined
        ? this.#read(consumer, mark, limit + 1)
        : await this.#search(consumer, { mark, limit: limit + 1, key });
    const shown = rows.slice(0, limit);
    const held = new Map<string, BrowsedMessage>();
    const messages = shown.map(({ id, heldBy, deliveryCount, record, recipient }) => {
      const state = heldBy === 0 ? 'ready' : 'held';
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
    return { messages, next: rows.length > limit ? writeMark(shown.at(-1)!) : null };
  }

  #read(consumer: MessageConsumer, mark: BrowseMark, limit: number): BrowsedRow[] {
    const { opened } = this.#options.file;
    return consumer.subscriber === 0
      ? opened.browse(consumer.queueId, mark.id, limit)
      : opened.browseTopic(consumer, mark, limit);
  }

  /** Scans all messages, since there is no index on correlation ids, and yields to other calls in between. */
  async #search(
    consumer: MessageConsumer,
    { mark, limit, key }: { mark: BrowseMark; limit: number; key: CorrelationKey },
  ): Promise<BrowsedRow[]> {
    const { timers } = this.#options;
    const found: BrowsedRow[] = [];
    for (let after = mark; ; ) {
      const rows = this.#read(consumer, after, limits.searchRowsPerTurn);
      found.push(...rows.filter(({ record }) => key.matches(record, 0)));
      if (rows.length < limits.searchRowsPerTurn || found.length >= limit) return found.slice(0, limit);
      after = markOf(rows.at(-1)!);
      await new Promise<void>((resume) => timers.nextTurn(resume));
    }
  }
}

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
