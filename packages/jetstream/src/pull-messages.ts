/**
 * Fetches messages of one consumer. A request asks for at most what the call may take plus `prefetch`. A message that arrives
 * after its call has ended is returned at once, so that no message is held without a user.
 */
import { JetStreamApiError } from '@nats-io/jetstream';
import { type Msg, nanos, nuid } from '@nats-io/transport-node';
import { QueueError } from '@shardlab/engine';
import { type PullTarget, readLeader } from './leaders.ts';
import { queueErrorOf } from './server-errors.ts';
import type { ServerLink } from './server-link.ts';
import { storeLimits } from './store-limits.ts';

/** A delivery as the servers made it. */
export interface PulledMessage {
  raw: Msg;
  /** Subject for acknowledgements. */
  replySubject: string;
  stream: string;
  streamSequence: number;
  deliveryCount: number;
  storedAtMs: number;
  /** A moment of the monotonic clock before the delivery, ms: the servers hold the message for `ackWaitMs` from then at least. */
  heldFromMs: number;
  /** The consumer's leader before the delivery: see `leaders.ts`. */
  leader: string;
}

type PullEnd = 'complete' | 'empty' | 'silent' | 'gone' | 'unserved' | 'crowded';

/** Bound of one waiting request: its deliveries count as held from its start. */
const waitShare = 1 / 6;

export class MessagePuller {
  readonly #link: ServerLink;
  readonly target: PullTarget;
  readonly #ackWaitMs: number;
  readonly #prefetch: number;
  /** The leader as last read: later deliveries are by this leader or a later one. */
  #leader: string | undefined;
  #prefetched: PulledMessage[] = [];
  #returnTimer: NodeJS.Timeout | undefined;

  constructor(link: ServerLink, target: PullTarget, options: { ackWaitMs: number; prefetch: number }) {
    this.#link = link;
    this.target = target;
    this.#ackWaitMs = options.ackWaitMs;
    this.#prefetch = options.prefetch;
  }

  /**
   * Fetches up to `max` messages: the ready ones, or else the first that arrives within `waitMs`. Throws `INSTANCE_UNREACHABLE`
   * if no server answered, `SUBSCRIBER_NOT_FOUND` if the consumer is gone, `WAITERS_FULL`. `assertOpen` is called about once a
   * second of the wait and ends it by rejecting.
   */
  async pull(
    max: number,
    waitMs: number,
    signal: AbortSignal,
    assertOpen: () => Promise<void> = async () => {},
  ): Promise<PulledMessage[]> {
    const until = performance.now() + waitMs;
    this.#leader ??= await readLeader(this.#link, this.target);
    while (true) {
      const early = this.#takePrefetched(max);
      if (early.length > 0) return early;
      let { messages, end } = await this.#request(max + this.#prefetch, 0, signal);
      const leftMs = until - performance.now();
      if (messages.length === 0 && end === 'empty' && leftMs > 0 && !signal.aborted) {
        await assertOpen();
        const stepMs = Math.min(leftMs, this.#ackWaitMs * waitShare, storeLimits.queueRowMsMax);
        const first = await this.#request(1, stepMs, signal);
        messages = first.messages;
        end = first.end;
        if (messages.length > 0 && max > 1) {
          const more = await this.#request(max - 1 + this.#prefetch, 0, signal);
          messages.push(...more.messages);
        }
      }
      this.#keep(messages.splice(max));
      if (messages.length > 0 || signal.aborted) return messages;
      if (end === 'unserved') await this.#assertExists();
      if (end === 'gone')
        throw new QueueError('SUBSCRIBER_NOT_FOUND', { details: { consumer: this.target.consumer } });
      if (end === 'crowded') throw new QueueError('WAITERS_FULL');
      if (performance.now() >= until) {
        if (end === 'empty') return messages;
        throw new QueueError('INSTANCE_UNREACHABLE', { message: 'No server answers for the queue' });
      }
      if (end !== 'empty') await pauseOrAbort(storeLimits.retryPauseMs, signal);
    }
  }

  /** Throws if the consumer does not exist: a request finds no listener if the consumer has no leader, or does not exist. */
  async #assertExists(): Promise<void> {
    const { stream, consumer } = this.target;
    try {
      await this.#link.manager.consumers.info(stream, consumer);
    } catch (error) {
      if (!(error instanceof JetStreamApiError)) return; // no answer: the next request is tried
      const found = queueErrorOf(error.apiError());
      if (found.code === 'QUEUE_NOT_FOUND' || found.code === 'SUBSCRIBER_NOT_FOUND') throw found;
    }
  }

  /** One request; `waitMs` 0 for what is ready. Resolves when it is answered, aborted or overdue. */
  #request(
    batch: number,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<{ messages: PulledMessage[]; end: PullEnd }> {
    const { connection } = this.#link;
    const messages: PulledMessage[] = [];
    const heldFromMs = performance.now();
    const leader = this.#leader!;
    const overdueMs = waitMs + storeLimits.requestMs;
    return new Promise((resolve) => {
      let isOver = false;
      let isAborted = false;
      const inbox = `_INBOX.${nuid.next()}`;
      const finish = (end: PullEnd, isAnswered: boolean) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(overdue);
        signal.removeEventListener('abort', onAbort);
        if (isAnswered) subscription.unsubscribe();
        // Messages in flight belong to no call: they are returned when they arrive.
        else setTimeout(() => subscription.unsubscribe(), overdueMs).unref();
        resolve({ messages, end });
      };
      const onAbort = () => {
        isAborted = true;
        finish('empty', false);
      };
      const onMessage = (raw: Msg) => {
        const status = raw.headers?.code ?? 0;
        if (status !== 0 && (raw.reply ?? '') === '') {
          this.#link.noteAnswer();
          const end = endOf(status, raw.headers?.description ?? '');
          if (end !== undefined) finish(end, true);
          return;
        }
        const message = parseDelivery(raw, heldFromMs, leader);
        if (message === undefined) return;
        if (isOver) {
          // After a silence there may be another leader, and another holder, whose hold a return would end.
          if (isAborted) raw.respond('-NAK');
          return;
        }
        messages.push(message);
        if (messages.length === batch) finish('complete', true);
      };
      const subscription = connection.subscribe(inbox, {
        callback: (error, message) => {
          if (error === null) onMessage(message);
        },
      });
      const overdue = setTimeout(() => {
        this.#link.noteSilence();
        finish('silent', false);
      }, overdueMs);
      signal.addEventListener('abort', onAbort, { once: true });
      const { stream, consumer } = this.target;
      const request = waitMs === 0 ? { batch, no_wait: true } : { batch, expires: nanos(Math.ceil(waitMs)) };
      try {
        connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(request), {
          reply: inbox,
        });
      } catch {
        finish('silent', false); // the connection is closed
      }
    });
  }

  #takePrefetched(max: number): PulledMessage[] {
    if (this.#prefetched.length === 0) return [];
    const freshMs = performance.now() - this.#ackWaitMs * waitShare;
    const taken = this.#prefetched.splice(0, max);
    void this.#return(taken.filter(({ heldFromMs }) => heldFromMs < freshMs));
    return taken.filter(({ heldFromMs }) => heldFromMs >= freshMs);
  }

  #keep(surplus: PulledMessage[]): void {
    this.#prefetched.push(...surplus);
    clearTimeout(this.#returnTimer);
    if (this.#prefetched.length === 0) return;
    this.#returnTimer = setTimeout(() => void this.releasePrefetched(), storeLimits.prefetchIdleMs).unref();
  }

  /** Reads the consumer's current leader. Throws `INSTANCE_UNREACHABLE`, and what `ServerLink.call` does. */
  async currentLeader(): Promise<string> {
    this.#leader = await readLeader(this.#link, this.target);
    return this.#leader;
  }

  /** Prefetched messages become ready for others. */
  async releasePrefetched(): Promise<void> {
    clearTimeout(this.#returnTimer);
    await this.#return(this.#prefetched.splice(0));
  }

  async #return(messages: PulledMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const leader = await this.currentLeader().catch(() => undefined); // they are ready when their time is up
    for (const message of messages) if (message.leader === leader) message.raw.respond('-NAK');
  }
}

/** Interprets a status without a message; undefined for a heartbeat. */
function endOf(status: number, description: string): PullEnd | undefined {
  if (status === 404 || status === 408) return 'empty';
  if (status === 503) return 'unserved';
  if (status !== 409) return undefined;
  if (/consumer deleted/i.test(description)) return 'gone';
  if (/exceeded maxwaiting/i.test(description)) return 'crowded';
  return 'unserved';
}

/** `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<deliveries>.<sequence>.<consumer sequence>.<time, ns>.<pending>[.<token>]` */
function parseDelivery(raw: Msg, heldFromMs: number, leader: string): PulledMessage | undefined {
  const parts = raw.reply?.split('.') ?? [];
  if (parts[1] !== 'ACK') return undefined;
  const [stream, , deliveryCount, streamSequence, , timeNs] = parts.slice(parts.length === 9 ? 2 : 4);
  return {
    raw,
    replySubject: raw.reply!,
    stream: stream!,
    streamSequence: Number(streamSequence),
    deliveryCount: Number(deliveryCount),
    storedAtMs: Number(BigInt(timeNs ?? '0') / 1_000_000n),
    heldFromMs,
    leader,
  };
}

function pauseOrAbort(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
