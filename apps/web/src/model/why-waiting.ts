/** Why a message that is browsed has not been delivered for good, in one sentence. */
import type { MessageOut, QueueInfo } from '@shardlab/contract';
import { formatDuration, plural } from './format.ts';

export type WaitingMessage = Pick<MessageOut, 'state' | 'deliveryCount' | 'untilMs' | 'properties'>;
export type WaitingIn = Pick<QueueInfo, 'dequeueEnabled' | 'attemptsMax' | 'exceptionQueue'>;

export function whyWaiting(message: WaitingMessage, queue: WaitingIn, nowMs: number): string {
  const sentence = sentenceOf(message, queue, nowMs);
  const from = message.properties?.['exception-queue-of'];
  if (from === undefined) return sentence;
  return `Came from ${from}: ${message.properties?.['exception-reason'] ?? 'moved there'}. ${sentence}`;
}

function sentenceOf(message: WaitingMessage, queue: WaitingIn, nowMs: number): string {
  const { state, deliveryCount, untilMs } = message;
  const until = untilMs === undefined ? '' : ` until ${timeOf(untilMs, nowMs)}`;
  switch (state) {
    case 'held':
      return `Handed out${times(deliveryCount, queue)} and held${until}; ${fate(deliveryCount, queue)}.`;
    case 'delayed':
      return deliveryCount > 0
        ? `Came back after ${attempts(deliveryCount, queue)}; paused${until}.`
        : `Delayed${until}.`;
    default:
      break;
  }
  const before = deliveryCount > 0 ? `Came back after ${attempts(deliveryCount, queue)}. ` : '';
  return queue.dequeueEnabled
    ? `${before}Ready: no dequeue has reached it yet.`
    : `${before}Ready, but the queue is stopped for dequeue.`;
}

/** "2 of 5 attempts"; "1 attempt" where there is no limit. */
const attempts = (count: number, { attemptsMax }: WaitingIn): string =>
  attemptsMax === null ? plural(count, 'attempt') : `${count} of ${plural(attemptsMax, 'attempt')}`;

function times(count: number, { attemptsMax }: WaitingIn): string {
  if (attemptsMax !== null) return `, attempt ${count} of ${attemptsMax},`;
  return count > 1 ? `, the ${ordinal(count)} time,` : '';
}

/** What becomes of it if its holder does not consume it. */
function fate(count: number, { attemptsMax, exceptionQueue }: WaitingIn): string {
  const isLast = attemptsMax !== null && count >= attemptsMax;
  return isLast && exceptionQueue !== null
    ? `if it is not consumed it moves to ${exceptionQueue}`
    : 'it comes back unless it is consumed';
}

function ordinal(count: number): string {
  const isTeen = count % 100 >= 11 && count % 100 <= 13;
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th');
  return `${count}${ending}`;
}

/** Within half a day a clock says it; beyond, it needs the day. */
const farMs = 12 * 60 * 60_000;

function timeOf(atMs: number, nowMs: number): string {
  const leftMs = atMs - nowMs;
  if (leftMs > farMs)
    return new Date(atMs).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  const clock = new Date(atMs).toLocaleTimeString('en-GB');
  return leftMs < 1_000 ? clock : `${clock}, in ${formatDuration(leftMs)}`;
}
