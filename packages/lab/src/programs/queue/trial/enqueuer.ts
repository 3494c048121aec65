import type { Session, SessionTime } from '@shardlab/engine';
import type { Interval } from '../../../integrity/delivery-spans.ts';
import { retryPause } from '../../../meters/load-waits.ts';
import type { StreamedPayloadCodec } from './streamed-payload.ts';
import type { Workload } from './workload.ts';

/** Maximum messages and payload bytes of the transactions that fill a backlog. */
const fillMessages = 1_000;
const fillBytes = 4 * 1024 ** 2;

/** One enqueuer session in a closed loop. */
export class Enqueuer {
  readonly #work: Workload;
  readonly #number: number;
  readonly #session: Session;
  readonly #time: SessionTime;
  #sequence = 0;

  /** `number` is unique over all instances. */
  constructor(work: Workload, number: number) {
    this.#work = work;
    this.#number = number;
    this.#session = work.host.openSession();
    this.#time = work.host.timeOf(this.#session);
    work.nameSession(this.#time, 'enqueuer', work.config.enqueuers.indexOf(number));
  }

  /** Enqueues the backlog that must exist before the warm-up. */
  async fill(messages: number): Promise<void> {
    const { config, clock } = this.#work;
    const { payloadBytes, layout } = config;
    const most = Math.max(
      1,
      Math.min(fillMessages, Math.floor(fillBytes / payloadBytes / layout.enqueueQueues.length)),
    );
    for (let rest = messages; rest > 0; ) {
      const count = Math.min(rest, most);
      try {
        await this.#stage(count, clock());
        const committingAtMs = clock();
        await this.#session.commit();
        this.#recordCommit(count, { fromMs: committingAtMs, toMs: clock() });
        rest -= count;
      } catch (error) {
        await this.#work.rollbackIfTransient(this.#session, error);
      }
    }
  }

  /**
   * Runs transactions of the workload's size, each started when the previous one is durable, until enqueuers are stopped.
   * Rejects with the engine's error if a commit fails, unless a failover undid it or the queue was being converted: then it is repeated
   * at once, and its messages carry the time of the first attempt.
   *
   * With round trips every enqueue and the commit first waits one. Because an enqueue only stages in memory, the messages
   * are staged together right before the commit, and carry that time.
   *
   * One function, since awaiting another one would cost a promise, a turn and two changes of the time book in each transaction.
   */
  async run(): Promise<void> {
    const work = this.#work;
    const time = this.#time;
    const session = this.#session;
    const { config, gate, roundTrips, clock, host } = work;
    const { operationsPerTransaction: operations } = config;
    // Each copy for a subscriber is a separate call; a topic needs only one.
    const calls = operations * config.layout.enqueueQueues.length + 1;
    time.resume();
    let nowMs = clock();
    let sentAtMs: number | undefined;
    while (!work.stopped) {
      if (sentAtMs === undefined && gate.full) {
        await gate.wait(time);
        time.resume();
        nowMs = clock();
        continue;
      }
      if (sentAtMs === undefined && roundTrips !== null) {
        for (let call = 0; call < calls && !work.stopped; call++) {
          await roundTrips.wait(time);
          time.resume();
        }
        if (work.stopped) break;
        nowMs = clock();
      }
      sentAtMs ??= nowMs;
      try {
        const staged = this.#stage(operations, sentAtMs);
        if (staged !== undefined) {
          await staged;
          time.resume();
        }
        const committingAtMs = clock();
        await time.suspend(session.commit(), host.eventOfCalls);
        time.resume();
        nowMs = clock();
        sentAtMs = undefined;
        this.#recordCommit(operations, { fromMs: committingAtMs, toMs: nowMs });
      } catch (error) {
        time.resume();
        await time.suspend(work.rollbackIfTransient(session, error), retryPause);
        time.resume();
        nowMs = clock();
      }
      if (work.isTurnDue(nowMs)) {
        await time.yield(work.yieldToEventLoop());
        time.resume();
        nowMs = clock();
      }
    }
    await time.suspend(session.close());
    time.close();
  }

  /** Stages the next messages. Done when it returns, unless payloads are streamed: the caller then resumes the session's time. */
  #stage(messages: number, sentAtMs: number): Promise<void> | undefined {
    const { streams, book, config, codec } = this.#work;
    book?.enqueueing(this.#number, this.#sequence + messages);
    if (streams !== null) return this.#stream(streams, messages, sentAtMs);
    for (let index = 0; index < messages; index++) {
      const payload = codec.make({ enqueuer: this.#number, sequence: this.#sequence + index, sentAtMs });
      for (const queue of config.layout.enqueueQueues) this.#session.enqueue(queue, { payload });
    }
    return undefined;
  }

  async #stream(streams: StreamedPayloadCodec, messages: number, sentAtMs: number): Promise<void> {
    const { payloadBytes: bytes, layout } = this.#work.config;
    for (let index = 0; index < messages; index++) {
      const identity = { enqueuer: this.#number, sequence: this.#sequence + index, sentAtMs };
      for (const queue of layout.enqueueQueues) {
        await this.#time.suspend(
          this.#session.enqueueStream(queue, { payload: streams.make(identity), bytes }),
          this.#work.host.eventOfCalls,
        );
        this.#time.resume();
      }
    }
    this.#time.yield(undefined);
  }

  #recordCommit(messages: number, { fromMs, toMs }: Interval): void {
    const { meter, ledgers, gate, book } = this.#work;
    this.#sequence += messages;
    book?.enqueued(this.#number, this.#sequence);
    for (const ledger of ledgers) ledger.recordCommitted(this.#number, this.#sequence);
    meter.enqueued += messages;
    meter.recordCommit(toMs - fromMs);
    meter.gaps.recordCommit(toMs);
    meter.enqueueGaps.recordCommit(toMs);
    gate.enqueued(messages);
  }
}
