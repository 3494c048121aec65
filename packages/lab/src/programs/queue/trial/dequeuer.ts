import {
  type DequeueOptions,
  type Message,
  payloadRead,
  type Session,
  type SessionTime,
  waitingForMessages,
} from '@shardlab/engine';
import type { Interval } from '../../../integrity/delivery-spans.ts';
import type { Ledger, OrderCheck } from '../../../integrity/ledger.ts';
import type { PayloadIdentity } from '../../../integrity/payload.ts';
import { retryPause } from '../../../meters/load-waits.ts';
import { type ApplicationRows, openRows } from './application-rows.ts';
import type { DequeueSource } from './layout.ts';
import type { StreamedPayloadCodec } from './streamed-payload.ts';
import type { Workload } from './workload.ts';

/** How long a dequeue waits for a message before the session commits what it has and dequeues again. */
const idleWaitMs = 100;
/** The same once no further message can arrive: only a backlog may still be read. */
const sealedWaitMs = 10;

/**
 * One dequeuer session in a closed loop: collects the operations of a transaction, then commits. With round trips every
 * dequeue takes one message, and each call first waits a round trip; without, one call takes as many as it gets.
 */
export class Dequeuer {
  readonly #work: Workload;
  readonly #session: Session;
  readonly #time: SessionTime;
  /** Among the dequeuers of its source in this process. */
  readonly #number: number;
  readonly #sourceIndex: number;
  readonly #source: DequeueSource;
  readonly #ledger: Ledger;
  readonly #order: OrderCheck;
  /** Undefined if no rows are inserted. */
  readonly #rows: ApplicationRows | undefined;

  constructor(work: Workload, { sourceIndex, number }: { sourceIndex: number; number: number }) {
    this.#work = work;
    this.#session = work.host.openSession();
    this.#time = work.host.timeOf(this.#session);
    work.nameSession(this.#time, 'dequeuer', sourceIndex * work.config.dequeuers + number);
    this.#number = number;
    this.#sourceIndex = sourceIndex;
    this.#source = work.config.layout.dequeueSources[sourceIndex]!;
    this.#ledger = work.ledgers[sourceIndex]!;
    this.#order = work.orderOfDequeuer(sourceIndex);
    this.#rows = openRows(work, this.#session, this.#time);
  }

  /**
   * Runs until its source is empty after it was sealed, or the drain is over. Rejects with the engine's error if a call fails, unless a
   * failover or a conversion undid the transaction.
   *
   * One function, since awaiting another one would cost a promise, a turn and two changes of the time book in each transaction.
   */
  async run(): Promise<void> {
    const work = this.#work;
    const time = this.#time;
    const session = this.#session;
    const { clock, host, meter, roundTrips, streams } = work;
    const { operationsPerTransaction: operations } = work.config;
    time.resume();
    while (!work.drainOver) {
      const identities: PayloadIdentity[] = [];
      let messages = 0;
      let isEmpty = false;
      let nowMs: number;
      try {
        do {
          if (roundTrips !== null) {
            await roundTrips.wait(time);
            time.resume();
          }
          const calledAtMs = clock();
          const max = roundTrips === null ? operations - messages : 1;
          // The first call does not wait for messages, so that its time is that of a dequeue that finds some. Only this one is recorded.
          let batch = await time.suspend(this.#dequeue({ max, waitMs: 0 }), host.eventOfCalls);
          time.resume();
          nowMs = clock();
          if (batch.length > 0) meter.recordDequeueCall(nowMs - calledAtMs);
          else {
            const event = host.eventOfCalls === undefined ? undefined : waitingForMessages;
            batch = await time.suspend(this.#waitForMessages(max), event);
            time.resume();
            nowMs = clock();
          }
          isEmpty = batch.length === 0;
          const first = identities.length;
          if (streams === null) this.#check(batch, { fromMs: calledAtMs, toMs: nowMs }, identities);
          else {
            await this.#readStreamed(streams, batch, identities);
            time.resume();
          }
          if (batch.some(({ deliveryCount }) => deliveryCount > 1))
            this.#ledger.checkRedelivered(identities.slice(first));
          messages += batch.length;
        } while (messages < operations && !work.drainOver && !isEmpty);
        if (messages > 0) {
          if (this.#rows !== undefined) {
            await this.#rows.write(identities);
            time.resume();
          }
          if (roundTrips !== null) {
            await roundTrips.wait(time);
            time.resume();
          }
          work.book?.consuming(this.#sourceIndex, this.#number, identities);
          const committingAtMs = clock();
          await time.suspend(session.commit(), host.eventOfCalls);
          time.resume();
          nowMs = clock();
          this.#recordCommit(messages, identities, { fromMs: committingAtMs, toMs: nowMs });
        }
      } catch (error) {
        time.resume();
        await time.suspend(work.rollbackIfTransient(session, error), retryPause);
        time.resume();
        isEmpty = false;
        nowMs = clock();
      }
      if (isEmpty && work.isSealed) {
        const isOver = await time.suspend(work.isDrained(this.#sourceIndex));
        time.resume();
        if (isOver) break;
      }
      if (work.isTurnDue(nowMs)) {
        await time.yield(work.yieldToEventLoop());
        time.resume();
      }
    }
    await this.#rows?.close();
    await time.suspend(session.close());
    time.close();
  }

  #dequeue(options: DequeueOptions): Promise<Message[]> {
    const { queue, subscriber } = this.#source;
    return this.#session.dequeue(queue, subscriber === undefined ? options : { ...options, subscriber });
  }

  #waitForMessages(max: number): Promise<Message[]> {
    const { isSealed, sealSignal: signal } = this.#work;
    return this.#dequeue(isSealed ? { max, waitMs: sealedWaitMs } : { max, waitMs: idleWaitMs, signal });
  }

  /** Checks the whole batch synchronously; otherwise the batches of several dequeuers would interleave. */
  #check(batch: readonly Message[], call: Interval, identities: PayloadIdentity[]): void {
    const { meter } = this.#work;
    // The messages of one transaction have the same latency, and follow each other.
    let sentAtMs = 0;
    let count = 0;
    for (const message of batch) {
      const identity = this.#ledger.recordDelivery(message, this.#order, call);
      if (identity === null) continue;
      if (identity.sentAtMs !== sentAtMs) {
        if (count > 0) meter.recordLatency(call.toMs - sentAtMs, count);
        sentAtMs = identity.sentAtMs;
        count = 0;
      }
      count += 1;
      identities.push(identity);
    }
    if (count > 0) meter.recordLatency(call.toMs - sentAtMs, count);
  }

  /** Reads messages with streamed payloads, each of which counts as delivered once it was read completely. */
  async #readStreamed(
    streams: StreamedPayloadCodec,
    batch: readonly Message[],
    identities: PayloadIdentity[],
  ): Promise<void> {
    const { clock, meter, host } = this.#work;
    const time = this.#time;
    const reading = { time, event: host.eventOfCalls ?? payloadRead };
    for (const message of batch) {
      const identity = await streams.check(message.payloadStream(), reading);
      time.resume();
      this.#ledger.recordCheckedDelivery(identity, message.deliveryCount, this.#order);
      if (identity === null) continue;
      meter.recordLatency(clock() - identity.sentAtMs);
      identities.push(identity);
    }
    time.yield(undefined);
  }

  #recordCommit(messages: number, identities: readonly PayloadIdentity[], { fromMs, toMs }: Interval): void {
    const { meter, gate, book, config } = this.#work;
    book?.consumed(this.#sourceIndex, this.#number);
    meter.consumed += messages;
    meter.recordCommit(toMs - fromMs);
    meter.gaps.recordCommit(toMs);
    for (const identity of identities) this.#ledger.recordConsumed(identity);
    gate.consumed(messages / config.layout.dequeueSources.length);
  }
}
