/**
 * Messages that sessions of this store hold. The servers know no holder, only a time: they accept an acknowledgement from any
 * client, even after the message was delivered to another one. So the holder keeps the time itself. A hold is valid until the
 * servers may deliver the message again, counted from a moment before its delivery; while it lasts, the holder reports that it
 * works on the message. Calls after the end of the hold are refused here and not sent.
 *
 * A report extends the hold from the time of the previous report: the leader answers a report before the majority has it, and a
 * leader that is cut off keeps answering for some seconds. Returns are sent once and never repeated: a repeated one could end the
 * hold of the next holder. An acknowledgement may be repeated as long as the hold is valid.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { QueueError } from '@shardlab/engine';
import type { PulledMessage } from './pull-messages.ts';
import { NoAnswer, type ServerLink } from './server-link.ts';
import { storeLimits } from './store-limits.ts';

/** Interval between two reports of a hold, as a share of `ackWaitMs`. */
const reportShare = 1 / 3;
/** How often that is checked: often enough for the shortest `ackWaitMs`. */
const checkMs = 250;

export interface Hold {
  readonly message: PulledMessage;
  /** The monotonic clock's time at which it ends, ms. */
  validUntilMs: number;
}

interface LiveHold extends Hold {
  readonly ackWaitMs: number;
  /** When the last answered report was sent, or a moment before the delivery. */
  reportedAtMs: number;
  isReporting: boolean;
}

export class Holds {
  readonly #link: ServerLink;
  readonly #live = new Set<LiveHold>();
  readonly #timer: NodeJS.Timeout;

  constructor(link: ServerLink) {
    this.#link = link;
    this.#timer = setInterval(() => this.#report(), checkMs).unref();
  }

  /** `ackWaitMs`: of the consumer that delivered the message. */
  add(message: PulledMessage, ackWaitMs: number): Hold {
    const hold: LiveHold = {
      message,
      ackWaitMs,
      validUntilMs: endOf(message.heldFromMs, ackWaitMs),
      reportedAtMs: message.heldFromMs,
      isReporting: false,
    };
    this.#live.add(hold);
    return hold;
  }

  isValid(hold: Hold): boolean {
    return this.#live.has(hold as LiveHold) && performance.now() < hold.validUntilMs;
  }

  /** Whether this store holds the message with this number in the stream. */
  holdsSequence(stream: string, sequence: number): boolean {
    for (const { message } of this.#live) {
      if (message.streamSequence === sequence && message.stream === stream) return true;
    }
    return false;
  }

  #report(): void {
    const now = performance.now();
    for (const hold of this.#live) {
      if (now >= hold.validUntilMs) this.#live.delete(hold);
      else if (!hold.isReporting && now - hold.reportedAtMs >= hold.ackWaitMs * reportShare) {
        void this.#reportOne(hold);
      }
    }
  }

  async #reportOne(hold: LiveHold): Promise<void> {
    hold.isReporting = true;
    const sentAtMs = performance.now();
    try {
      await this.#link.request(hold.message.replySubject, '+WPI');
      // Answered after its end it may have prolonged the hold of the next holder, and not this one.
      if (performance.now() >= hold.validUntilMs) return;
      hold.validUntilMs = Math.max(hold.validUntilMs, endOf(hold.reportedAtMs, hold.ackWaitMs));
      hold.reportedAtMs = sentAtMs;
    } catch (error) {
      if (!(error instanceof NoAnswer)) this.#live.delete(hold);
    } finally {
      hold.isReporting = false;
    }
  }

  /**
   * Consumes the message. Resolves with true once the servers have confirmed it while the hold was valid: the message will not be
   * delivered again. Resolves with false if they have not confirmed it by the end of the hold: it may be consumed or not.
   */
  async consume(hold: Hold, outcomeMs: number): Promise<boolean> {
    this.#live.delete(hold as LiveHold);
    const until = Math.min(hold.validUntilMs, performance.now() + outcomeMs);
    while (performance.now() < until) {
      try {
        await this.#link.request(hold.message.replySubject, '+ACK');
        return performance.now() < hold.validUntilMs;
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
      }
      await pause(storeLimits.retryPauseMs);
    }
    return false;
  }

  /**
   * Ends the hold: the message is ready again after `delayMs`. Resolves when the servers have confirmed that. Rejects with
   * `INSTANCE_UNREACHABLE` if they have not: then it is ready once its time is up.
   */
  async nack(hold: Hold, delayMs: number): Promise<void> {
    const wasValid = this.isValid(hold);
    this.#live.delete(hold as LiveHold);
    if (!wasValid) return;
    const call = delayMs > 0 ? `-NAK {"delay": ${Math.ceil(delayMs) * 1_000_000}}` : '-NAK';
    try {
      await this.#link.request(hold.message.replySubject, call);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      throw new QueueError('INSTANCE_UNREACHABLE', {
        message: 'No server answers; the message is ready again when its time is up',
        cause: error,
      });
    }
  }

  /** The hold is no longer kept. */
  forget(hold: Hold): void {
    this.#live.delete(hold as LiveHold);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#live.clear();
  }
}

function endOf(fromMs: number, ackWaitMs: number): number {
  return fromMs + ackWaitMs * (1 - storeLimits.clockShare);
}
