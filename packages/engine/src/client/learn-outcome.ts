/**
 * Finds out how a commit ended whose answer was lost with the connection. Each commit is stored with its session and transaction
 * number (`commit/commit-outcomes.ts`), so the instance can answer after a reconnect or a recovery.
 */

import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import type { TransactionNumber } from '../model/ids.ts';
import { pause } from '../model/pause.ts';
import type { Clock } from '../model/ports.ts';
import type { LazyCommitResult } from '../model/session-calls.ts';
import { requests } from '../wire/protocol.ts';
import { ConnectionLost } from './pending-requests.ts';
import type { SessionAttachment } from './session-attachment.ts';

/** Pause before the instance is asked again, milliseconds. */
const retryMs = 50;

/** Throws `TX_NOT_COMMITTED`, and `COMMIT_OUTCOME_UNKNOWN` if no instance answers in time or it may have forgotten. */
export async function learnOutcome(
  attachment: SessionAttachment,
  { transactionNumber, sentAt }: { transactionNumber: TransactionNumber; sentAt: SentAt },
): Promise<LazyCommitResult> {
  let outcome: LazyCommitResult | undefined;
  try {
    outcome = await askOutcome(attachment, transactionNumber);
  } catch (error) {
    throw new QueueError('COMMIT_OUTCOME_UNKNOWN', { cause: error });
  }
  if (outcome !== undefined) return outcome;
  // Outcomes are kept for a limited time. A client that was suspended for longer cannot tell "not committed" from "forgotten".
  if (sinceMs(sentAt, attachment.link.ports.clock) > limits.outcomeRetentionMs / 2)
    throw new QueueError('COMMIT_OUTCOME_UNKNOWN');
  throw new QueueError('TX_NOT_COMMITTED');
}

/** When a commit was sent, by both clocks: the monotonic one may stand while the machine sleeps, the other can be set back. */
export interface SentAt {
  epochMs: number;
  monotonicMs: number;
}

export const sentNow = (clock: Clock): SentAt => ({
  epochMs: clock.epochMs(),
  monotonicMs: clock.monotonicMs(),
});

/** The longer of the two times: too long only means that an outcome counts as unknown. */
const sinceMs = (sentAt: SentAt, clock: Clock): number =>
  Math.max(clock.epochMs() - sentAt.epochMs, clock.monotonicMs() - sentAt.monotonicMs);

/** Asks until there is an answer, for as long as the link may take to connect. */
async function askOutcome(
  attachment: SessionAttachment,
  transactionNumber: TransactionNumber,
): Promise<LazyCommitResult | undefined> {
  const { link, sessionNumber } = attachment;
  const { clock, timers } = link.ports;
  const untilMs = clock.monotonicMs() + link.connectMs;
  for (;;) {
    try {
      if (!attachment.isCurrent) await attachment.attach();
      return await attachment.request<LazyCommitResult | undefined>(requests.commitOutcome, (writer) => {
        writer.u32(sessionNumber);
        writer.f64(transactionNumber);
      });
    } catch (error) {
      const isTransient = error instanceof QueueError && error.retryable;
      if (!(error instanceof ConnectionLost || isTransient) || clock.monotonicMs() > untilMs) throw error;
      // The instance is closing or has too many sessions: it is asked again after a pause.
      if (!(error instanceof ConnectionLost)) await pause(timers, retryMs);
    }
  }
}
