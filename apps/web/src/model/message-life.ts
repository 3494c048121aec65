/** A message's life in words: each recorded event, the wait between two events, and why the message waits now. */
import type { MessageEvent, MessageTrace, MessageWhereabouts, TraceRecorderInfo } from '@shardlab/contract';
import { formatCount, formatMs, formatTimeOfDay, plural } from './format.ts';

export interface LifeStep {
  event: MessageEvent;
  /** Since the first event, ms. */
  sinceMs: number;
  /** Since the event before it, ms; undefined for the first one. */
  afterMs: number | undefined;
  /** What the message waited for before this event; undefined if nothing is known. */
  meanwhile: string | undefined;
  sentence: string;
  /** Place of the message; undefined if it is unchanged. */
  place: string | undefined;
  tone: 'good' | 'live' | 'finding' | 'bad' | 'plain';
}

export function lifeSteps(events: readonly MessageEvent[]): LifeStep[] {
  return events.map((event, index) => {
    const before = events[index - 1];
    const place = placeOf(event);
    return {
      event,
      sinceMs: Math.max(0, event.atMs - events[0]!.atMs),
      afterMs: before && Math.max(0, event.atMs - before.atMs),
      meanwhile: before && meanwhileOf(before, event),
      sentence: sentenceOf(event),
      place: before !== undefined && placeOf(before) === place ? undefined : place,
      tone: toneOf(event),
    };
  });
}

function placeOf({ instance, shard, seq, partition, subscriber }: MessageEvent): string {
  const parts = [`instance ${instance}`, `shard ${shard}`, `number ${formatCount(seq)}`];
  if (partition !== null) parts.push(`partition ${partition}`);
  if (subscriber !== undefined) parts.push(subscriber === null ? 'a former subscriber' : `for ${subscriber}`);
  return parts.join(', ');
}

const tones: Partial<Record<MessageEvent['event'], LifeStep['tone']>> = {
  committed: 'good',
  consumed: 'good',
  delivered: 'live',
  'rolled-back': 'finding',
  returned: 'finding',
  expired: 'finding',
  paused: 'finding',
  delayed: 'finding',
  diverted: 'bad',
  lost: 'bad',
};
const toneOf = ({ event }: MessageEvent) => tones[event] ?? 'plain';

function sentenceOf(event: MessageEvent): string {
  const { session, attempt = 1, untilMs, peer } = event;
  const until = untilMs === undefined ? '' : ` until ${formatTimeOfDay(untilMs)}`;
  switch (event.event) {
    case 'enqueued':
      return session === undefined ? 'Enqueued' : `Enqueued by session ${session}`;
    case 'delayed':
      return `Stored separately, because it is delayed${until}`;
    case 'due':
      return 'Due: moves to its shard';
    case 'grouped':
      return `Numbered in ${groupOf(event)}, and sent to the writer`;
    case 'committed':
      return event.group === undefined
        ? 'Visible at once: it is in memory only'
        : `Committed in ${groupOf(event)}, written in ${formatMs(event.writeMs ?? 0)}`;
    case 'lost':
      return 'Its group failed: it never was a message';
    case 'passed-over':
      return 'Passed over: it is addressed to others';
    case 'cached':
      return 'Cached in memory, to be delivered without a read';
    case 'left-on-disk':
      return 'Not cached, as the message cache is full: it is read from disk when its turn comes';
    case 'read':
      return 'Read back from its partition';
    case 'delivered':
      if (session === undefined) return 'Taken by the engine, for another instance or a branch in doubt';
      return attempt > 1
        ? `Redelivered to session ${session}, attempt ${attempt}`
        : `Delivered to session ${session}`;
    case 'held-unread':
      return 'Held, as it may have been forwarded before the instance opened';
    case 'held':
      return `Held${until}`;
    case 'extended':
      return `Its hold was extended${until}`;
    case 'released':
      return 'Released by its holder';
    case 'expired':
      return 'Its hold expired without an acknowledgement';
    case 'rolled-back':
      return session === undefined ? 'Rolled back' : `Rolled back by session ${session}`;
    case 'returned':
      return 'Back in its queue, before later messages';
    case 'delivery-cancelled':
      return 'Its delivery was cancelled: no consumer has seen it';
    case 'paused':
      return `Waits for its retry delay${until}`;
    case 'resumed':
      return 'Its retry delay is over';
    case 'prepared':
      return 'In doubt: part of a prepared branch of a distributed transaction';
    case 'diverted':
      return 'Its attempts are used up: it moves to the exception queue';
    case 'forwarded':
      return `Forwarded to instance ${peer}`;
    case 'received':
      return `Received from instance ${peer}`;
    case 'consumed':
      return event.group === undefined ? 'Consumed' : `Consumed in group ${event.group}`;
    case 'evacuated':
      return 'Copied out of its partition, so that this can be truncated';
    case 'recovered':
      return 'Found outside of its partition when the instance opened';
    case 'truncated':
      return event.partition === null
        ? 'Its partition was truncated'
        : `Partition ${event.partition} was truncated`;
  }
}

function groupOf({ group, others = 0 }: MessageEvent): string {
  return others === 0 ? `group ${group}, alone` : `group ${group}, with ${plural(others, 'other')}`;
}

/** What the message waited for between two events. */
function meanwhileOf(before: MessageEvent, { event, instance }: MessageEvent): string | undefined {
  switch (event) {
    case 'grouped':
      return before.event === 'enqueued' ? 'its session to commit, and the group to close' : undefined;
    case 'committed':
      return before.event === 'grouped' ? 'the write and its sync' : undefined;
    case 'read':
      return 'its turn to be read';
    case 'delivered':
      return 'a consumer, and those before it';
    case 'due':
      return 'its time';
    case 'resumed':
      return 'its retry delay';
    case 'consumed':
    case 'rolled-back':
    case 'released':
    case 'expired':
    case 'diverted':
      return heldAfter.has(before.event) && before.instance === instance ? 'its consumer' : undefined;
    case 'truncated':
      return 'the other messages of its partition';
    default:
      return undefined;
  }
}

const heldAfter: ReadonlySet<MessageEvent['event']> = new Set(['delivered', 'held', 'extended', 'prepared']);

/** Why the message waits, or what happened to it. */
export function whereaboutsSentence(where: MessageWhereabouts): string {
  switch (where.state) {
    case 'uncommitted':
      return 'Its group is with the writer: it becomes visible when that is written and synced.';
    case 'ready':
      return readySentence(where);
    case 'held':
      return heldSentence(where);
    case 'delayed':
      return where.reason === 'not-due'
        ? `Delayed until ${formatTimeOfDay(where.untilMs)}.`
        : `Returned, and waits for its retry delay until ${formatTimeOfDay(where.untilMs)}.`;
    case 'consumed':
      return `Nobody gets it any more: consumed, or moved elsewhere. ${partitionSentence(where)}`;
    case 'unknown':
      return 'No message here has this id; or it was delayed or forwarded, and is not in the trace.';
  }
}

const aheadOf = (ahead: number) =>
  `${plural(ahead, 'message')} ${ahead === 1 ? 'is' : 'are'} delivered before it`;

function readySentence({ reason, ahead }: Extract<MessageWhereabouts, { state: 'ready' }>): string {
  const behind = ahead === 0 ? '' : ` ${aheadOf(ahead)}.`;
  switch (reason) {
    case 'dequeue-stopped':
      return `Ready, but dequeue is stopped for this queue.${behind}`;
    case 'behind-others':
      return `Ready, but not at the head of its shard: ${aheadOf(ahead)}.`;
    case 'elsewhere-first':
      return `Ready, but earlier messages of its shard are at another instance, and are delivered first.${behind}`;
    case 'partition-damaged':
      return `Ready, but its shard delivers nothing from a damaged partition on.${behind}`;
    case 'being-read':
      return 'Next of its shard, as soon as it is read from disk.';
    case 'no-consumer':
      return 'Ready and the next to be delivered of its shard, but no consumer asks for a message.';
    case 'next':
      return 'Next to be delivered to a consumer that waits.';
  }
}

const holders = {
  transaction: 'its transaction is open',
  'timed-hold': 'a timed hold',
  branch: 'a branch in doubt, which its transaction manager has to decide',
  other:
    'in a commit that is being written, in the pipeline of a remote consumer, or on its way to another instance',
} as const;

function heldSentence({
  holder,
  session,
  sinceMs,
  untilMs,
}: Extract<MessageWhereabouts, { state: 'held' }>): string {
  const who = session === undefined ? '' : ` with session ${session}`;
  const since = sinceMs === undefined ? '' : ` since ${formatTimeOfDay(sinceMs)}`;
  const until = untilMs === undefined ? '' : ` until ${formatTimeOfDay(untilMs)}`;
  return `In flight${who}${since}: ${holders[holder]}${until}.`;
}

function partitionSentence({
  partition,
  waitsFor,
}: Extract<MessageWhereabouts, { state: 'consumed' }>): string {
  switch (partition) {
    case 'none':
      return 'It was in memory only.';
    case 'filling':
      return 'Its partition is the one that its shard fills.';
    case 'waits':
      return `Its partition is kept for message ${waitsFor}, which is not consumed.`;
    case 'retained':
      return 'All of its partition is consumed; it is kept for the retention time of the queue, or until the next commit.';
    case 'truncating':
      return 'The next group truncates its partition.';
    case 'truncated':
      return 'Its partition was truncated.';
  }
}

/** What is missing from the trace, and why. */
export function coverageSentence({
  coverage,
  recorders,
}: {
  coverage: MessageTrace['coverage'];
  recorders: readonly Pick<TraceRecorderInfo, 'overwritten'>[];
}): string {
  const overwritten = recorders.some((recorder) => recorder.overwritten > 0);
  if (coverage === 'complete') return 'Recorded from its enqueue on.';
  if (coverage === 'partial')
    return `Its first events are missing: ${overwritten ? 'later ones were recorded over them, or ' : ''}they happened before the instance opened, or on one that does not answer.`;
  return `Nothing was recorded of this message: ${overwritten ? 'later events were recorded over its own, or ' : ''}it is not traced, or it was enqueued before the instance opened. Where it is now is known nevertheless.`;
}

/** How much is recorded, of all messages. */
export function recorderSentence(recorders: readonly TraceRecorderInfo[]): string {
  const [first] = recorders;
  if (first === undefined) return '';
  const traced =
    first.traceEvery === 0
      ? 'Messages are traced only on request'
      : `One message in ${first.traceEvery} is traced, and others on request`;
  const kept = `the last ${formatCount(first.eventsMax)} events of each instance are kept, in memory only`;
  const overwritten = recorders.reduce((sum, recorder) => sum + recorder.overwritten, 0);
  return `${traced}; ${kept}${overwritten === 0 ? '' : `, and ${plural(overwritten, 'older one')} ${overwritten === 1 ? 'was' : 'were'} overwritten`}. A restart forgets them.`;
}
