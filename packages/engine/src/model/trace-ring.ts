/**
 * The last events of traced messages of one instance, in memory of a fixed size: an event overwrites the oldest one. Nothing
 * is allocated before the first event. Times are of the monotonic clock; readers get them as epoch milliseconds.
 */
import { limits } from '../api/limits.ts';
import { type MessageEventKind, messageEventKinds } from '../api/message-event-kinds.ts';
import type {
  GroupNumber,
  InstanceId,
  LogId,
  PartitionId,
  QueueId,
  Seq,
  SessionNumber,
  SubscriberId,
} from './ids.ts';
import type { Clock } from './ports.ts';
import type { MessageName } from './trace-events.ts';

/** Details of an event. In each field 0 means none. */
export interface TraceDetails {
  subscriber?: SubscriberId | undefined;
  session?: SessionNumber | undefined;
  attempt?: number | undefined;
  group?: GroupNumber | undefined;
  others?: number | undefined;
  /**
   * Depending on the event: a duration in ms (`committed`), a time in epoch ms (`delayed`, `paused`, `held`, `extended`), or an
   * instance.
   */
  amount?: number | undefined;
  /** Time of the event by the monotonic clock, ms; by default now. */
  atMs?: number | undefined;
}

type AllDetails = { [Detail in keyof TraceDetails]-?: NonNullable<TraceDetails[Detail]> };

/** An event as it is read from the ring. `subscriber` is -1 if it concerns all of them. */
export interface TraceEntry extends AllDetails {
  event: MessageEventKind;
  queue: QueueId;
  name: MessageName;
  logId: LogId;
  seq: Seq;
  partition: PartitionId;
}

export interface TraceRingOptions {
  instance: InstanceId;
  clock: Clock;
  /** One message in this many is traced: a power of two, or 0 for none. */
  traceEvery: number;
  eventsMax?: number;
}

/** Numbers that an event has in each of the two arrays. */
const doubleColumns = 5;
const wordColumns = 9;
/** The ring stores the id of a subscriber plus one, since 0 is that of a queue. */
const noSubscriber = -1;

const codes = new Map(messageEventKinds.map((event, code) => [event, code]));

export class TraceRing {
  readonly instance: InstanceId;
  readonly clock: Clock;
  readonly traceEvery: number;
  readonly eventsMax: number;
  /** Events since the instance opened. */
  recorded = 0;
  #doubles: Float64Array | undefined;
  #words: Uint32Array | undefined;
  /** Ids of messages whose trace was requested, the oldest first: `<queue>/<log>.<seq>`. */
  readonly #requested = new Set<string>();

  constructor({ instance, clock, traceEvery, eventsMax = limits.messageEventsMax }: TraceRingOptions) {
    this.instance = instance;
    this.clock = clock;
    this.traceEvery = traceEvery;
    this.eventsMax = eventsMax;
  }

  /** Events that were overwritten by later ones. */
  get overwritten(): number {
    return Math.max(0, this.recorded - this.eventsMax);
  }

  /** Traces this message from now on, in any log of this instance. Past `tracesRequestedMax` the oldest request is forgotten. */
  request(queue: QueueId, { logId, seq }: MessageName): void {
    this.#requested.add(`${queue}/${logId}.${seq}`);
    for (const oldest of this.#requested) {
      if (this.#requested.size <= limits.tracesRequestedMax) break;
      this.#requested.delete(oldest);
    }
  }

  /** Whether a message is traced, by the id that it keeps. */
  traces(queue: QueueId, { logId, seq }: MessageName): boolean {
    if (this.traceEvery > 0 && seq % this.traceEvery === 0) return true;
    return this.#requested.size > 0 && this.#requested.has(`${queue}/${logId}.${seq}`);
  }

  push(
    event: MessageEventKind,
    place: Pick<TraceEntry, 'queue' | 'name' | 'logId' | 'seq' | 'partition'>,
    details: TraceDetails,
  ): void {
    this.#doubles ??= new Float64Array(this.eventsMax * doubleColumns);
    this.#words ??= new Uint32Array(this.eventsMax * wordColumns);
    const index = this.recorded % this.eventsMax;
    this.recorded += 1;
    const doubles = this.#doubles;
    const words = this.#words;
    let at = index * doubleColumns;
    doubles[at++] = details.atMs ?? this.clock.monotonicMs();
    doubles[at++] = place.name.seq;
    doubles[at++] = place.seq;
    doubles[at++] = details.group ?? 0;
    doubles[at] = details.amount ?? 0;
    at = index * wordColumns;
    words[at++] = codes.get(event)!;
    words[at++] = place.queue;
    words[at++] = place.name.logId;
    words[at++] = place.logId;
    words[at++] = place.partition;
    words[at++] = (details.subscriber ?? noSubscriber) + 1;
    words[at++] = details.session ?? 0;
    words[at++] = details.attempt ?? 0;
    words[at] = details.others ?? 0;
  }

  /** The events of a message that are not overwritten, the oldest first. O(`eventsMax`). */
  find(queue: QueueId, { logId, seq }: MessageName): TraceEntry[] {
    const found: TraceEntry[] = [];
    const [doubles, words] = [this.#doubles, this.#words];
    if (doubles === undefined || words === undefined) return found;
    for (let number = this.overwritten; number < this.recorded; number += 1) {
      const index = number % this.eventsMax;
      const at = index * wordColumns;
      if (doubles[index * doubleColumns + 1] !== seq || words[at + 2] !== logId || words[at + 1] !== queue)
        continue;
      found.push(this.#entryAt(index));
    }
    return found;
  }

  /** The messages of a queue with the most recent events, at most `max`: the last event of each, the most recent first. Reads no further than it must. */
  latest(queue: QueueId, max: number): TraceEntry[] {
    const latest = new Map<string, TraceEntry>();
    for (let number = this.recorded - 1; number >= this.overwritten && latest.size < max; number -= 1) {
      const index = number % this.eventsMax;
      if (this.#words![index * wordColumns + 1] !== queue) continue;
      const entry = this.#entryAt(index);
      const id = `${entry.name.logId}.${entry.name.seq}`;
      if (!latest.has(id)) latest.set(id, entry);
    }
    return [...latest.values()];
  }

  #entryAt(index: number): TraceEntry {
    const [atMs, nameSeq, seq, group, amount] = this.#doubles!.subarray(
      index * doubleColumns,
      (index + 1) * doubleColumns,
    );
    const [code, queue, nameLogId, logId, partition, subscriber, session, attempt, others] =
      this.#words!.subarray(index * wordColumns, (index + 1) * wordColumns);
    return {
      event: messageEventKinds[code!]!,
      atMs: atMs!,
      queue: queue!,
      name: { logId: nameLogId!, seq: nameSeq! },
      logId: logId!,
      seq: seq!,
      partition: partition!,
      subscriber: subscriber! - 1,
      session: session!,
      attempt: attempt!,
      group: group!,
      others: others!,
      amount: amount!,
    };
  }
}
