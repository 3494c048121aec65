/** Truncates partitions whose messages were kept for a while after they were consumed: a timer for each log that has some. */
import type { GroupCommit } from '../commit/group-commit.ts';
import type { MessageLog } from '../log/message-log.ts';
import type { Ports, Timer } from '../model/ports.ts';

export interface RetentionOptions {
  groupCommit: Pick<GroupCommit, 'truncateDrained' | 'schedule'>;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

export class Retention {
  readonly #options: RetentionOptions;
  readonly #timers = new Map<MessageLog, Timer>();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Call it for a log with partitions that are retained for now. */
  watch(log: MessageLog): void {
    const { groupCommit, ports } = this.#options;
    const untilMs = log.partitions.retainedUntilMs;
    if (untilMs === undefined || this.#timers.has(log)) return;
    // A timer may fire up to a millisecond early.
    const timer = ports.timers.after(untilMs - ports.clock.monotonicMs() + 1, () => {
      this.#timers.delete(log);
      if (log.dropped) return;
      groupCommit.truncateDrained(log);
      groupCommit.schedule();
    });
    this.#timers.set(log, timer);
  }

  close(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }
}
