import type { Session } from '@shardlab/engine';
import type { PayloadIdentity } from './payload.ts';
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
  #sequence = 0;

  /** `number` is unique over all instances. */
  constructor(work: Workload, number: number) {
    this.#work = work;
    this.#number = number;
    this.#session = work.host.openSession();
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
    const { host, config, clock, gate, roundTrips } = work;
    const { operationsPerTransaction: operations } = config;
    // Each copy for a subscriber is a separate call; a topic needs only one.
    const calls = operations * config.layout.enqueueQueues.length + 1;
    while (!work.stopped) {
      if (gate.full) {
        const since = clock();
        await gate.wait();
        host.waits.record('flow control', clock() - since);
        continue;
      }
      if (roundTrips !== null) {
        for (let call = 0; call < calls && !work.stopped; call++) await roundTrips.wait();
        if (work.stopped) break;
      }
      await this.#transact(operations);
      await work.yieldToEventLoop();
    }
    await this.#session.close();
  }

  /** Runs one transaction, repeated if a failover undid it or the queue was being converted. Its messages carry the time of the first attempt. */
  async #transact(messages: number): Promise<void> {
    const { clock, meter, ledgers, gate, book } = this.#work;
    const sentAtMs = clock();
    book?.enqueueing(this.#number, this.#sequence + messages);
    while (!(await this.#commit(messages, sentAtMs))) if (this.#work.stopped) return;
    this.#sequence += messages;
    book?.enqueued(this.#number, this.#sequence);
    for (const ledger of ledgers) ledger.recordCommitted(this.#number, this.#sequence);
    meter.enqueued += messages;
    meter.gaps.recordCommit();
    meter.enqueueGaps.recordCommit();
    gate.enqueued(messages);
  }

  async #commit(messages: number, sentAtMs: number): Promise<boolean> {
    try {
      for (let index = 0; index < messages; index++) {
        const identity = { enqueuer: this.#number, sequence: this.#sequence + index, sentAtMs };
        if (this.#work.streams === null) this.#stage(identity);
        else await this.#stream(this.#work.streams, identity);
      }
      await this.#session.commit();
      return true;
    } catch (error) {
      await this.#work.rollbackIfTransient(this.#session, error);
      return false;
    }
  }

  #stage(identity: PayloadIdentity): void {
    const { config, codec } = this.#work;
    const payload = codec.make(identity);
    for (const queue of config.layout.enqueueQueues) this.#session.enqueue(queue, { payload });
  }

  async #stream(streams: StreamedPayloadCodec, identity: PayloadIdentity): Promise<void> {
    const { payloadBytes: bytes, layout } = this.#work.config;
    for (const queue of layout.enqueueQueues)
      await this.#session.enqueueStream(queue, { payload: streams.make(identity), bytes });
  }
}
