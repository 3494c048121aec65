/** Pages through the messages of unsharded queues without delivering them. */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { BrowsedMessage } from '../api/message.ts';
import type { CorrelationKey } from '../model/correlation-key.ts';
import type { QueueId } from '../model/ids.ts';
import type { Timers } from '../model/ports.ts';
import type { QueueRow } from '../model/queue-row.ts';
import type { BrowsedPage, BrowseOptions, QueueBrowser } from '../queues/queue-engine.ts';
import { readContent } from '../queues/record-content.ts';
import type { TimedHolds } from '../queues/timed-holds.ts';
import type { UnshardedFile } from '../storage/unsharded/unsharded-file.ts';
import type { LazyUnshardedFile } from './lazy-unsharded-file.ts';
import { throwStreamUnsupported } from './unsharded-message.ts';
import type { UnshardedDelivery } from './unsharded-transaction.ts';

export interface UnshardedBrowserOptions {
  file: LazyUnshardedFile;
  holds: TimedHolds<UnshardedDelivery>;
  timers: Timers;
}

export class UnshardedBrowser implements QueueBrowser {
  readonly #options: UnshardedBrowserOptions;

  constructor(options: UnshardedBrowserOptions) {
    this.#options = options;
  }

  async browse(queue: QueueRow, { limit, after, key }: BrowseOptions): Promise<BrowsedPage> {
    const { file, holds } = this.#options;
    const afterId = Number(after ?? 0);
    if (!Number.isSafeInteger(afterId) || afterId < 0) {
      throw new QueueError('OPTIONS_INVALID', { message: '`after` is not a page mark of this queue' });
    }
    const rows =
      key === undefined
        ? file.opened.browse(queue.queueId, afterId, limit + 1)
        : await this.#search(queue.queueId, { afterId, limit: limit + 1, key });
    const held = new Map<number, BrowsedMessage>();
    const messages = rows.slice(0, limit).map(({ id, heldBy, deliveryCount, record }) => {
      const state = heldBy === 0 ? 'ready' : 'held';
      const content = readContent(record, 0, throwStreamUnsupported);
      const message: BrowsedMessage = { id: String(id), ...content, deliveryCount, state };
      if (state === 'held') held.set(id, message);
      return message;
    });
    // Only this instance's own: the file does not say when those of others end.
    for (const { delivery, untilMs } of held.size === 0 ? [] : holds.expiring()) {
      const message = held.get(delivery.id);
      if (message !== undefined) message.untilMs = untilMs;
    }
    return { messages, next: rows.length > limit ? messages.at(-1)!.id : null };
  }

  /** Scans all messages, since there is no index on correlation ids, and yields to other calls in between. */
  async #search(
    queueId: QueueId,
    { afterId, limit, key }: { afterId: number; limit: number; key: CorrelationKey },
  ): Promise<ReturnType<UnshardedFile['browse']>> {
    const { file, timers } = this.#options;
    const found: ReturnType<UnshardedFile['browse']> = [];
    for (let after = afterId; ; ) {
      const rows = file.opened.browse(queueId, after, limits.searchRowsPerTurn);
      found.push(...rows.filter(({ record }) => key.matches(record, 0)));
      if (rows.length < limits.searchRowsPerTurn || found.length >= limit) return found.slice(0, limit);
      after = rows.at(-1)!.id;
      await new Promise<void>((resume) => timers.nextTurn(resume));
    }
  }
}
