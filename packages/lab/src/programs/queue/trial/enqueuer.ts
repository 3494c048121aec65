import type { Session, SessionTime } from '@shardlab/engine';
import type { PayloadIdentity } from '../../../integrity/payload.ts';
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
    const { payloadBytes, layout } = this.#work.config;
    const most = Math.max(
      1,
      Math.min(fillMessages, Math.floor(fillBytes / payloadBytes / layout.enqueueQueues.length)),
    );
    for (let rest = messages; rest > 0; rest -= most) await this.#transact(Math.min(rest, most));
  }

  /**
   * Runs transactions of the workload's size, each started when the previous one is durable, until enqueuers are stopped.
   * Rejects with the engine's error if a commit fails.
   *
   * With round trips every enqueue and the commit first waits one. Because an enqueue only stages in memory, the messages
   * are staged together right before the commit, and carry that time.
   */
  async run(): Promise<void> {
    const work = this.#work;
    const time = this.#time;
    const { config, gate, roundTrips } = work;
    const { operationsPerTransaction: operations } = config;
    // Each copy for a subscriber is a separate call; a topic needs only one.
    const calls = operations * config.layout.enqueueQueues.length + 1;
    time.resume();
    while (!work.stopped) {
      if (gate.full) {
        await gate.wait(time);
        time.resume();
        continue;
      }
      if (roundTrips !== null) {
        for (let call = 0; call < calls && !work.stopped; call++) {
          await roundTrips.wait(time);
          time.resume();
        }
        if (work.stopped) break;
      }
      await this.#transact(operations);
      time.resume();
      if (work.isTurnDue) {
        await time.yield(work.yieldToEventLoop());
        time.resume();
      }
    }
    await time.suspend(this.#session.close());
    time.close();
  }

  /**
   * Runs one transaction, repeated if a failover undid it or the queue was being converted. Its messages carry the time of
   * the first attempt. The caller resumes the session's time.
   */
  async #transact(messages: number): Promise<void> {
    const { clock, meter, ledgers, gate, host, streams, book } = this.#work;
    const time = this.#time;
    const sentAtMs = clock();
    book?.enqueueing(this.#number, this.#sequence + messages);
    let committingAtMs = sentAtMs;
    for (let committed = false; !committed; ) {
      try {
        for (let index = 0; index < messages; index++) {
          const identity = { enqueuer: this.#number, sequence: this.#sequence + index, sentAtMs };
          if (streams === null) this.#stage(identity);
          else {
            await this.#stream(streams, identity);
            time.resume();
          }
        }
        committingAtMs = clock();
        await time.suspend(this.#session.commit(), host.eventOfCalls);
        time.resume();
        committed = true;
      } catch (error) {
        time.resume();
        await time.suspend(this.#work.rollbackIfTransient(this.#session, error), retryPause);
        time.resume();
        if (this.#work.stopped) return;
      }
    }
    this.#sequence += messages;
    book?.enqueued(this.#number, this.#sequence);
    for (const ledger of ledgers) ledger.recordCommitted(this.#number, this.#sequence);
    meter.enqueued += messages;
    const now = clock();
    meter.recordCommit(now - committingAtMs);
    meter.gaps.recordCommit(now);
    meter.enqueueGaps.recordCommit(now);
    gate.enqueued(messages);
    time.yield(undefined); // the caller's turn comes after those of sessions that were resumed with this one
  }

  #stage(identity: PayloadIdentity): void {
    const { config, codec } = this.#work;
    const payload = codec.make(identity);
    for (const queue of config.layout.enqueueQueues) this.#session.enqueue(queue, { payload });
  }

  async #stream(streams: StreamedPayloadCodec, identity: PayloadIdentity): Promise<void> {
    const { payloadBytes: bytes, layout } = this.#work.config;
    for (const queue of layout.enqueueQueues) {
      await this.#time.suspend(
        this.#session.enqueueStream(queue, { payload: streams.make(identity), bytes }),
        this.#work.host.eventOfCalls,
      );
      this.#time.resume();
    }
    this.#time.yield(undefined);
  }
}
