/**
 * One bounded load: sessions that enqueue at a fixed rate and sessions that consume, as clients of the cluster, whatever
 * happens to its processes. It ends by itself and then reports the fate of every message.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadSample, ClusterLoad as Report } from '@shardlab/contract';
import { type Message, QueueError, type Session } from '@shardlab/engine';
import type { QueueHost } from '../cluster/backend.ts';
import { ServerError } from '../errors.ts';
import { mapError } from '../http/map-error.ts';
import type { HidePaths } from '../http/private-paths.ts';
import { limits } from '../limits.ts';
import { LoadLedger, type LoadMessage } from './load-ledger.ts';

export interface LoadOptions {
  cluster: LoadedCluster;
  durationMs: number;
  /** Messages per second, over all sessions. */
  ratePerSec: number;
}

export interface LoadedCluster {
  /** Throws `TOPOLOGY_CHANGING`. */
  readonly queues: QueueHost;
  /** Whether every instance is being served. */
  readonly isWhole: boolean;
  readonly hidePaths: HidePaths;
}

/** The queue of the load: created for each load and dropped afterwards. */
export const loadQueue = 'shardlab-failover-load';

const { enqueuers, dequeuers, messagesPerCommit, sampleMs, retryMs, drainMsMax } = limits.load;

/** A call that fails with one of these codes changed nothing and can be repeated. */
const transientCodes: readonly string[] = [
  'TX_NOT_COMMITTED',
  'INSTANCE_UNREACHABLE',
  'INSTANCE_CLOSED',
  'INSTANCE_LEAVING',
  'LEASE_LAPSED',
  'SESSION_CLOSED',
  'TOPOLOGY_CHANGING',
  'BACKLOG_FULL',
  'STORAGE_FULL',
  'LOG_FULL',
];

export class ClusterLoad {
  readonly #options: LoadOptions;
  readonly #ledger = new LoadLedger(enqueuers);
  /** How many messages each enqueuer has sent, or is sending. */
  readonly #sent = times(enqueuers, () => 0);
  readonly #startedAtMs = Date.now();
  readonly #startedAt = performance.now();
  readonly #samples: LoadSample[] = [];
  #lastSample = { atMs: 0, acknowledged: 0, consumed: 0 };
  /** Aborted when enqueuing must end. */
  readonly #stopping = new AbortController();
  /** Aborted when everything must end at once, because the server is closing. */
  readonly #closing = new AbortController();
  #state: Report['state'] = 'running';
  #slowestCommitMs = 0;
  #left: number | null = null;
  #lost: number | null = null;
  #error: unknown;
  readonly ended: Promise<void>;

  /** The queue exists when this resolves. Throws what creating it throws. */
  static async start(options: LoadOptions): Promise<ClusterLoad> {
    const { queues } = options.cluster;
    // The queue may exist because an earlier server ended before it dropped it.
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

  /** Ends enqueuing; messages in the queue are still consumed. */
  stop(): void {
    this.#stopping.abort();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    this.#closing.abort();
    await this.ended;
  }

  /** The present state, with the samples from index `firstSample` on. */
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
      error: this.#error === undefined ? null : this.#options.cluster.hidePaths(mapError(this.#error).body),
      samples: this.#samples.slice(firstSample),
    };
  }

  get sampleCount(): number {
    return this.#samples.length;
  }

  async #run(): Promise<void> {
    const sampleTimer = setInterval(() => this.#sample(), sampleMs);
    const stopTimer = setTimeout(() => this.stop(), this.#options.durationMs);
    const consumed = new AbortController();
    // With a handler from the start: it is awaited only when enqueuing has ended.
    const consuming = times(dequeuers, () =>
      this.#dequeue(consumed.signal).catch((error: unknown) => this.#fail(error)),
    );
    await Promise.all(times(enqueuers, (enqueuer) => this.#enqueue(enqueuer)));
    this.#state = 'draining';
    await this.#waitUntilDrained();
    consumed.abort();
    await Promise.all(consuming);
    clearTimeout(stopTimer);
    clearInterval(sampleTimer);
    await this.#countRemaining().catch((error: unknown) => this.#fail(error));
    this.#state = 'done';
  }

  /** Enqueues at this session's share of the rate. After an outage it continues at that rate and does not catch up. */
  async #enqueue(enqueuer: number): Promise<void> {
    const everyMs = (enqueuers * messagesPerCommit * 1_000) / this.#options.ratePerSec;
    let nextAt = this.#startedAt + (everyMs * enqueuer) / enqueuers;
    const client = new LoadClient(this.#options.cluster);
    for (let sequence = 0; !this.#isStopping; sequence += messagesPerCommit) {
      await pause(nextAt - performance.now(), this.#stopping.signal);
      if (this.#isStopping) break;
      this.#sent[enqueuer] = sequence + messagesPerCommit;
      await this.#commit(
        client,
        times(messagesPerCommit, (index) => ({ enqueuer, sequence: sequence + index })),
      );
      nextAt = Math.max(nextAt + everyMs, performance.now());
    }
    await client.close();
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #commit(client: LoadClient, messages: readonly LoadMessage[]): Promise<void> {
    const startedAt = performance.now();
    do {
      try {
        const session = client.session();
        for (const { enqueuer, sequence } of messages)
          session.enqueue(loadQueue, { payload: `${enqueuer}.${sequence}` });
        await session.commit();
        for (const message of messages) this.#ledger.recordAcknowledged(message);
        this.#slowestCommitMs = Math.max(this.#slowestCommitMs, performance.now() - startedAt);
        return;
      } catch (error) {
        await client.rollback();
        if (!isTransient(error)) {
          for (const message of messages) this.#ledger.recordUnknown(message);
          if (!isOutcomeUnknown(error)) this.#fail(error);
          return;
        }
      }
      await pause(retryMs, this.#closing.signal);
    } while (!this.#isStopping);
  }

  async #dequeue(consumed: AbortSignal): Promise<void> {
    const client = new LoadClient(this.#options.cluster);
    while (!consumed.aborted) {
      let messages: LoadMessage[] = [];
      try {
        const session = client.session();
        const taken = await session.dequeue(loadQueue, { max: 100, waitMs: 200, signal: consumed });
        messages = taken.flatMap((message) => this.#ownMessage(message));
        for (const message of messages) this.#ledger.recordDelivery(message);
        await session.commit();
        for (const message of messages) this.#ledger.recordConsumed(message, true);
      } catch (error) {
        await client.rollback();
        if (isOutcomeUnknown(error))
          for (const message of messages) this.#ledger.recordConsumed(message, false);
        else if (!isTransient(error)) this.#fail(error);
        await pause(retryMs, consumed);
      }
    }
    await client.close();
  }

  /** None if this load has not sent the message: its queue is open to other clients. Theirs are consumed and not counted. */
  #ownMessage(message: Message): LoadMessage[] {
    const payload = message.streamed ? '' : message.payload.toString();
    const [, enqueuer, sequence] = (/^(\d+)\.(\d+)$/.exec(payload) ?? []).map(Number);
    if (enqueuer === undefined || sequence === undefined) return [];
    return sequence < (this.#sent[enqueuer] ?? 0) ? [{ enqueuer, sequence }] : [];
  }

  /** Resolves when all acknowledged messages are consumed, or after `drainMsMax`. */
  async #waitUntilDrained(): Promise<void> {
    const untilMs = performance.now() + drainMsMax;
    while (this.#ledger.counts.waiting > 0 && performance.now() < untilMs && !this.#isClosing) {
      await pause(sampleMs / 4, this.#closing.signal);
    }
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Counts remaining and lost messages. While an instance is not served, its messages cannot be counted and must not be reported as lost. */
  async #countRemaining(): Promise<void> {
    if (this.#isClosing) return;
    const { cluster } = this.#options;
    const { ready, held, delayed } = await cluster.queues.queue(loadQueue);
    this.#left = ready + held + delayed;
    if (!cluster.isWhole) return;
    this.#lost = Math.max(0, this.#ledger.counts.waiting - this.#left);
    // If messages are left or lost, the queue is kept for inspection.
    if (this.#ledger.counts.waiting === 0) await cluster.queues.dropQueue(loadQueue);
  }

  /** Keeps the first error; the load then ends early. */
  #fail(error: unknown): void {
    this.#error ??= error;
    this.stop();
  }

  #sample(): void {
    const atMs = Math.round(performance.now() - this.#startedAt);
    const { acknowledged, consumed } = this.#ledger.counts;
    const last = this.#lastSample;
    const perSec = 1_000 / Math.max(1, atMs - last.atMs);
    this.#samples.push({
      atMs,
      acknowledgedPerSec: Math.round((acknowledged - last.acknowledged) * perSec),
      consumedPerSec: Math.round((consumed - last.consumed) * perSec),
    });
    this.#lastSample = { atMs, acknowledged, consumed };
  }
}

/** A client's session. It survives a failover; if it was closed, the next call opens another one. */
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

const isTransient = (error: unknown): boolean =>
  (error instanceof QueueError || error instanceof ServerError) && transientCodes.includes(error.code);
const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof QueueError && error.code === 'COMMIT_OUTCOME_UNKNOWN';

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => undefined);
}
