/**
 * One bounded load: sessions that enqueue at a rate and sessions that consume, as clients of the cluster do, whatever
 * happens to its processes. It ends by itself, and then says what became of every message.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadSample, ClusterLoad as Report } from '@shardlab/contract';
import { QueueError, type Session } from '@shardlab/engine';
import type { QueueHost } from '../cluster/backend.ts';
import { ServerError } from '../errors.ts';
import { mapError } from '../http/map-error.ts';
import { limits } from '../limits.ts';
import { LoadLedger, type LoadMessage } from './load-ledger.ts';

export interface LoadOptions {
  cluster: LoadedCluster;
  durationMs: number;
  /** Messages a second, over all sessions. */
  ratePerSec: number;
}

export interface LoadedCluster {
  /** Throws `TOPOLOGY_CHANGING`. */
  readonly queues: QueueHost;
  /** Whether every instance is served at this moment. */
  readonly isWhole: boolean;
}

/** Made for each load and dropped after it. */
export const loadQueue = 'shardlab-failover-load';

const { enqueuers, dequeuers, messagesPerCommit, sampleMs, retryMs, drainMsMax } = limits.load;

/** A call that fails with one of these changed nothing, and may be made again. */
const passing: readonly string[] = [
  'TX_NOT_COMMITTED',
  'INSTANCE_UNREACHABLE',
  'INSTANCE_CLOSED',
  'INSTANCE_LEAVING',
  'LEASE_LAPSED',
  'SESSION_CLOSED',
  'TOPOLOGY_CHANGING',
  'BACKLOG_FULL',
  'STORAGE_FULL',
];

export class ClusterLoad {
  readonly #options: LoadOptions;
  readonly #ledger = new LoadLedger(enqueuers);
  readonly #startedAtMs = Date.now();
  readonly #startedAt = performance.now();
  readonly #samples: LoadSample[] = [];
  #sampled = { atMs: 0, acknowledged: 0, consumed: 0 };
  /** Nothing more is enqueued. */
  readonly #enough = new AbortController();
  /** All ends at once: the server is closing. */
  readonly #closing = new AbortController();
  #state: Report['state'] = 'running';
  #slowestCommitMs = 0;
  #left: number | null = null;
  #lost: number | null = null;
  #error: unknown;
  readonly ended: Promise<void>;

  /** The queue is there when this resolves. Throws what making it throws. */
  static async start(options: LoadOptions): Promise<ClusterLoad> {
    const { queues } = options.cluster;
    // One that an earlier server did not come to drop.
    if ((await queues.queues()).some(({ name }) => name === loadQueue)) await queues.dropQueue(loadQueue);
    await queues.createQueue({ name: loadQueue });
    return new ClusterLoad(options);
  }

  private constructor(options: LoadOptions) {
    this.#options = options;
    this.ended = this.#run();
  }

  get isOver(): boolean {
    return this.#state === 'done';
  }

  /** Enqueues nothing more; what is there is still consumed. */
  stop(): void {
    this.#enough.abort();
  }

  async close(): Promise<void> {
    this.#enough.abort();
    this.#closing.abort();
    await this.ended;
  }

  /** As it stands; samples from the one of this index on. */
  report(firstSample = 0): Report {
    const { durationMs, ratePerSec } = this.#options;
    const { waiting: _waiting, ...counts } = this.#ledger.counts;
    return {
      queue: loadQueue,
      state: this.#state,
      startedAtMs: this.#startedAtMs,
      durationMs,
      ratePerSec,
      ...counts,
      left: this.#left,
      lost: this.#lost,
      slowestCommitMs: Math.round(this.#slowestCommitMs),
      error: this.#error === undefined ? null : mapError(this.#error).body,
      samples: this.#samples.slice(firstSample),
    };
  }

  get sampleCount(): number {
    return this.#samples.length;
  }

  async #run(): Promise<void> {
    const sampling = setInterval(() => this.#sample(), sampleMs);
    const ending = setTimeout(() => this.stop(), this.#options.durationMs);
    const consumed = new AbortController();
    const consuming = times(dequeuers, () => this.#dequeue(consumed.signal));
    await Promise.all(times(enqueuers, (enqueuer) => this.#enqueue(enqueuer)));
    this.#state = 'draining';
    await this.#drained();
    consumed.abort();
    await Promise.all(consuming);
    clearTimeout(ending);
    clearInterval(sampling);
    await this.#settle().catch((error: unknown) => this.#fail(error));
    this.#state = 'done';
  }

  /** Each at its share of the rate. After a pause of the cluster it goes on at the rate: it does not make up for it. */
  async #enqueue(enqueuer: number): Promise<void> {
    const everyMs = (enqueuers * messagesPerCommit * 1_000) / this.#options.ratePerSec;
    let nextAt = this.#startedAt + (everyMs * enqueuer) / enqueuers;
    const client = new LoadClient(this.#options.cluster);
    for (let no = 0; !this.#isEnough; no += messagesPerCommit) {
      await pause(nextAt - performance.now(), this.#enough.signal);
      if (this.#isEnough) break;
      await this.#commit(
        client,
        times(messagesPerCommit, (index) => ({ enqueuer, no: no + index })),
      );
      nextAt = Math.max(nextAt + everyMs, performance.now());
    }
    await client.close();
  }

  get #isEnough(): boolean {
    return this.#enough.signal.aborted;
  }

  async #commit(client: LoadClient, messages: readonly LoadMessage[]): Promise<void> {
    const startedAt = performance.now();
    do {
      try {
        const session = client.session();
        for (const { enqueuer, no } of messages) session.enqueue(loadQueue, { payload: `${enqueuer}.${no}` });
        await session.commit();
        for (const message of messages) this.#ledger.acknowledge(message);
        this.#slowestCommitMs = Math.max(this.#slowestCommitMs, performance.now() - startedAt);
        return;
      } catch (error) {
        await client.rollback();
        if (!isPassing(error)) {
          for (const message of messages) this.#ledger.doNotKnow(message);
          if (!isUnknown(error)) this.#fail(error);
          return;
        }
      }
      await pause(retryMs, this.#closing.signal);
    } while (!this.#isEnough);
  }

  async #dequeue(consumed: AbortSignal): Promise<void> {
    const client = new LoadClient(this.#options.cluster);
    while (!consumed.aborted) {
      let messages: LoadMessage[] = [];
      try {
        const session = client.session();
        const taken = await session.dequeue(loadQueue, { max: 100, waitMs: 200, signal: consumed });
        messages = taken.map(({ payload }) => toMessage(payload.toString()));
        for (const message of messages) this.#ledger.handOut(message);
        await session.commit();
        for (const message of messages) this.#ledger.consume(message, true);
      } catch (error) {
        await client.rollback();
        if (isUnknown(error)) for (const message of messages) this.#ledger.consume(message, false);
        else if (!isPassing(error)) this.#fail(error);
        await pause(retryMs, consumed);
      }
    }
    await client.close();
  }

  /** Resolves when all that was acknowledged is consumed, or after a while. */
  async #drained(): Promise<void> {
    const untilMs = performance.now() + drainMsMax;
    while (this.#ledger.counts.waiting > 0 && performance.now() < untilMs && !this.#isClosing) {
      await pause(sampleMs / 4, this.#closing.signal);
    }
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Counts what is left; what an instance holds that nobody serves cannot be counted, and may not be called lost. */
  async #settle(): Promise<void> {
    if (this.#isClosing) return;
    const { cluster } = this.#options;
    const { ready, held, delayed } = await cluster.queues.queue(loadQueue);
    this.#left = ready + held + delayed;
    if (!cluster.isWhole) return;
    this.#lost = Math.max(0, this.#ledger.counts.waiting - this.#left);
    // What is left or lost stays to be looked at.
    if (this.#ledger.counts.waiting === 0) await cluster.queues.dropQueue(loadQueue);
  }

  /** Told once; the load then ends early. */
  #fail(error: unknown): void {
    this.#error ??= error;
    this.stop();
  }

  #sample(): void {
    const atMs = Math.round(performance.now() - this.#startedAt);
    const { acknowledged, consumed } = this.#ledger.counts;
    const before = this.#sampled;
    const perSec = 1_000 / Math.max(1, atMs - before.atMs);
    this.#samples.push({
      atMs,
      acknowledgedPerSec: Math.round((acknowledged - before.acknowledged) * perSec),
      consumedPerSec: Math.round((consumed - before.consumed) * perSec),
    });
    this.#sampled = { atMs, acknowledged, consumed };
  }
}

/** A client's session. It outlives a failover; if it is closed under the client, another one is opened. */
class LoadClient {
  readonly #cluster: LoadedCluster;
  #session: Session | undefined;

  constructor(cluster: LoadedCluster) {
    this.#cluster = cluster;
  }

  session(): Session {
    this.#session ??= this.#cluster.queues.openSession();
    return this.#session;
  }

  async rollback(): Promise<void> {
    await this.#session?.rollback().catch(() => this.close());
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close().catch(() => undefined);
  }
}

const isPassing = (error: unknown): boolean =>
  (error instanceof QueueError || error instanceof ServerError) && passing.includes(error.code);
const isUnknown = (error: unknown): boolean =>
  error instanceof QueueError && error.code === 'COMMIT_OUTCOME_UNKNOWN';

function toMessage(payload: string): LoadMessage {
  const [enqueuer, no] = payload.split('.').map(Number);
  return { enqueuer: enqueuer!, no: no! };
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => undefined);
}
