import type { Session } from '@shardlab/engine';
import type { PayloadIdentity } from './payload.ts';
import type { StreamedForge } from './streamed-payload.ts';
import type { Workload } from './workload.ts';

/** Transactions that fill a backlog have so many messages at most, and so many bytes of payload. */
const fillMessages = 1_000;
const fillBytes = 4 * 1024 ** 2;

/** One enqueuer session in a closed loop. */
export class Enqueuer {
  readonly #work: Workload;
  readonly #number: number;
  readonly #session: Session;
  #sequence = 0;

  /** `number` is its own over all instances. */
  constructor(work: Workload, number: number) {
    this.#work = work;
    this.#number = number;
    this.#session = work.host.openSession();
  }

  /** Enqueues the messages that shall wait already when the warm-up begins. */
  async fill(messages: number): Promise<void> {
    const { payloadBytes, layout } = this.#work.config;
    const most = Math.max(
      1,
      Math.min(fillMessages, Math.floor(fillBytes / payloadBytes / layout.inlets.length)),
    );
    for (let rest = messages; rest > 0; rest -= most) await this.#transact(Math.min(rest, most));
  }

  /**
   * Transactions of the workload's size, each begun when the one before is durable, until the enqueuers are stopped.
   * Rejects with the engine's error if a commit fails.
   *
   * With round trips every enqueue and the commit waits one first. Since the engine only stages an enqueue in memory,
   * the messages are staged together right before the commit, and carry the time at which that began.
   */
  async run(): Promise<void> {
    const work = this.#work;
    const { host, config, clock, gate, roundTrips } = work;
    const { operationsPerTransaction: operations } = config;
    // A copy for each subscriber is a call of its own; a topic takes one.
    const calls = operations * config.layout.inlets.length + 1;
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
      await work.breathe();
    }
    await this.#session.close();
  }

  /** One transaction, made again where a failover undid it or the queue was being converted: its messages then carry the time of the first try. */
  async #transact(messages: number): Promise<void> {
    const { clock, meter, ledgers, gate } = this.#work;
    const sentAtMs = clock();
    while (!(await this.#commit(messages, sentAtMs))) if (this.#work.stopped) return;
    this.#sequence += messages;
    for (const ledger of ledgers) ledger.committed(this.#number, this.#sequence);
    meter.enqueued += messages;
    meter.gaps.committed();
    meter.enqueueGaps.committed();
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
      await this.#work.outlive(this.#session, error);
      return false;
    }
  }

  #stage(identity: PayloadIdentity): void {
    const { config, forge } = this.#work;
    const payload = forge.make(identity);
    for (const queue of config.layout.inlets) this.#session.enqueue(queue, { payload });
  }

  async #stream(streams: StreamedForge, identity: PayloadIdentity): Promise<void> {
    const { payloadBytes: bytes, layout } = this.#work.config;
    for (const queue of layout.inlets)
      await this.#session.enqueueStream(queue, { payload: streams.make(identity), bytes });
  }
}
