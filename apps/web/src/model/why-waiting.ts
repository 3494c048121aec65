/** Explains why a message is still in the queue. */
import type { MessageOut, QueueInfo } from '@shardlab/contract';
import { formatDuration, plural } from './format.ts';

export type WaitingMessage = Pick<MessageOut, 'state' | 'deliveryCount' | 'untilMs' | 'properties'>;
export type WaitingIn = Pick<QueueInfo, 'dequeueEnabled' | 'attemptsMax' | 'exceptionQueue'>;

export function whyWaiting(message: WaitingMessage, queue: WaitingIn, nowMs: number): string {
  const sentence = sentenceOf(message, queue, nowMs);
  const source = message.properties?.['exception-queue-of'];
  if (source === undefined) return sentence;
  return `Moved here from ${source}: ${message.properties?.['exception-reason'] ?? 'no reason given'}. ${sentence}`;
}

function sentenceOf(message: WaitingMessage, queue: WaitingIn, nowMs: number): string {
  const { state, deliveryCount, untilMs } = message;
  const until = untilMs === undefined ? '' : ` until ${timeOf(untilMs, nowMs)}`;
  switch (state) {
    case 'held':
      return `Delivered${attemptNote(deliveryCount, queue)} and held${until}. ${ifNotConsumed(deliveryCount, queue)}.`;
    case 'delayed':
      return deliveryCount > 0
        ? `Returned after ${attempts(deliveryCount, queue)}; delayed${until}.`
        : `Delayed${until}.`;
    case 'processed':
      return 'Consumed, or moved to the exception queue. Kept for now.';
    default:
      break;
  }
  const history = deliveryCount > 0 ? `Returned after ${attempts(deliveryCount, queue)}. ` : '';
  return queue.dequeueEnabled
    ? `${history}Ready: waiting for a consumer.`
    : `${history}Ready, but dequeue is stopped for this queue.`;
}

/** "2 of 5 attempts", or "1 attempt" if the queue has no limit. */
const attempts = (count: number, { attemptsMax }: WaitingIn): string =>
  attemptsMax === null ? plural(count, 'attempt') : `${count} of ${plural(attemptsMax, 'attempt')}`;

function attemptNote(count: number, { attemptsMax }: WaitingIn): string {
  if (count === 0) return ''; // the store does not report it
  if (attemptsMax !== null) return ` (attempt ${count} of ${attemptsMax})`;
  return count > 1 ? ` for the ${ordinal(count)} time` : '';
}

/** What happens if the holder does not consume the message. */
function ifNotConsumed(count: number, { attemptsMax, exceptionQueue }: WaitingIn): string {
  const isLast = attemptsMax !== null && count >= attemptsMax;
  return isLast && exceptionQueue !== null
    ? `If it is not consumed, it moves to ${exceptionQueue}`
    : 'If it is not consumed, it becomes ready again';
}

function ordinal(count: number): string {
  const isTeen = count % 100 >= 11 && count % 100 <= 13;
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th');
  return `${count}${ending}`;
}

/** Times further away than this are shown with their date. */
const dateFromMs = 12 * 60 * 60_000;

function timeOf(atMs: number, nowMs: number): string {
  const leftMs = atMs - nowMs;
  if (leftMs > dateFromMs)
    return new Date(atMs).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  const clock = new Date(atMs).toLocaleTimeString('en-GB');
  return leftMs < 1_000 ? clock : `${clock}, in ${formatDuration(leftMs)}`;
}
