/**
 * Stores the messages of a transaction in one stream, all or none, exactly once: one message by its message id, more in one
 * atomic batch. An attempt without an answer is repeated under the same ids, so that the servers report its outcome.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type MsgHdrs, nuid } from '@nats-io/transport-node';
import { QueueError } from '@shardlab/engine';
import { apiErrorCodes, queueErrorOf, type ServerError } from './server-errors.ts';
import { NoAnswer, type ServerLink } from './server-link.ts';
import { storeLimits } from './store-limits.ts';

export interface OutgoingMessage {
  subject: string;
  payload: Uint8Array | string;
  /** Headers with a unique message id. */
  headers: MsgHdrs;
}

interface PublishAnswer {
  error?: ServerError;
  duplicate?: boolean;
}

/**
 * Resolves once all messages are stored as the stream promises. Throws what the servers refuse, with nothing stored;
 * `INSTANCE_UNREACHABLE` if no attempt reached them; `COMMIT_OUTCOME_UNKNOWN` if one did and none was answered in time.
 */
export async function publishMessages(
  link: ServerLink,
  stream: string,
  messages: readonly OutgoingMessage[],
  outcomeMs: number,
): Promise<void> {
  const until = performance.now() + outcomeMs;
  let mayBeStored = false;
  while (true) {
    let cause: unknown;
    try {
      const { error } = await publishOnce(link, messages);
      // A batch of which the servers know an id is stored: ids are ours alone, and of a batch all are stored or none.
      if (error === undefined || error.err_code === apiErrorCodes.batchDuplicate) return;
      if (!apiErrorCodes.temporary.has(error.err_code ?? 0)) {
        if (!mayBeStored) throw queueErrorOf(error);
        throw new QueueError('COMMIT_OUTCOME_UNKNOWN', { cause: queueErrorOf(error) });
      }
      cause = queueErrorOf(error);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      cause = error;
      if (error.isDelivered) mayBeStored = true;
      // No server listens: there is no leader at present, or no such stream.
      else await link.call(() => link.manager.streams.info(stream)).catch(throwUnlessSilent);
    }
    if (performance.now() > until) {
      throw new QueueError(mayBeStored ? 'COMMIT_OUTCOME_UNKNOWN' : 'INSTANCE_UNREACHABLE', { cause });
    }
    await pause(storeLimits.retryPauseMs);
  }
}

async function publishOnce(link: ServerLink, messages: readonly OutgoingMessage[]): Promise<PublishAnswer> {
  const last = messages.at(-1)!;
  if (messages.length > 1) {
    const batch = nuid.next();
    for (const [index, message] of messages.entries()) {
      message.headers.set('Nats-Batch-Id', batch);
      message.headers.set('Nats-Batch-Sequence', String(index + 1));
      // Of all but the last only a gap would be answered, and that the last one finds too.
      if (message !== last) publishUnanswered(link, message);
    }
    last.headers.set('Nats-Batch-Commit', '1');
  }
  const answer = await link.request(last.subject, last.payload, { headers: last.headers });
  return JSON.parse(answer.string()) as PublishAnswer;
}

function publishUnanswered(link: ServerLink, { subject, payload, headers }: OutgoingMessage): void {
  try {
    link.connection.publish(subject, payload, { headers });
  } catch (error) {
    throw new NoAnswer(false, error); // the connection is closed, and without this part the batch is not stored
  }
}

function throwUnlessSilent(error: unknown): void {
  if (!(error instanceof QueueError && error.code === 'INSTANCE_UNREACHABLE')) throw error;
}
