/** Queues, topics and subscribers: streams and consumers on the servers, of which only a short-lived copy is kept here. */
import { setTimeout as pause } from 'node:timers/promises';
import { DeliverPolicy, JetStreamApiError, type StreamInfo } from '@nats-io/jetstream';
import { nanos, nuid } from '@nats-io/transport-node';
import {
  type DropQueueOptions,
  QueueError,
  type QueueInfo,
  type SubscriberInfo,
  type SubscriberSpec,
} from '@shardlab/engine';
import { defaultQueueSettings } from '@shardlab/engine/queue-settings';
import {
  assertFields,
  assertName,
  assertNoExceptions,
  dropQueueFields,
  exceptionQueueName,
  subscriberFields,
  subscriberNameFault,
  whichFields,
} from '@shardlab/engine/store-rules';
import { isOfLeader } from './leaders.ts';
import {
  consumerConfigOf,
  isOurs,
  type JetStreamQueueSpec,
  metadataOf,
  type QueueRow,
  rowOfSpec,
  rowOfStream,
  streamConfigOf,
} from './queue-config.ts';
import { apiErrorCodes } from './server-errors.ts';
import type { ServerLink } from './server-link.ts';
import { storeLimits } from './store-limits.ts';
import {
  queueConsumer,
  shardSubjects,
  streamOf,
  subjectsOfAllQueues,
  subscriberConsumer,
} from './stream-names.ts';

const creationKey = 'shardlab-creation';
/** The last change of each flag that stops a queue, as a random text. */
const changeKeys = { enqueue: 'shardlab-enqueue-change', dequeue: 'shardlab-dequeue-change' } as const;
const subscriberKey = 'shardlab-subscriber';
const durableKey = 'shardlab-durable';

export interface CatalogOptions {
  sync: 'always' | 'interval';
  replicas: number;
  ackWaitMs: number;
}

/** A consumer to fetch from. `ackWaitMs`: its own, which another store may have chosen. */
export interface Consumer {
  stream: string;
  consumer: string;
  ackWaitMs: number;
}

export class QueueCatalog {
  readonly #link: ServerLink;
  readonly #options: CatalogOptions;
  readonly #rows = new Map<string, { row: QueueRow; readAtMs: number }>();
  readonly #consumers = new Map<string, Consumer>();
  /** Nondurable subscribers that this store added. */
  readonly #nondurable = new Map<string, { topic: string; name: string }>();

  constructor(link: ServerLink, options: CatalogOptions) {
    this.#link = link;
    this.#options = options;
  }

  async create(spec: JetStreamQueueSpec): Promise<QueueInfo> {
    const row = rowOfSpec(spec, this.#options);
    if (typeof spec.attemptsMax === 'number') await this.#createExceptionQueue(row);
    await this.createStream(row);
    return this.info(row.name);
  }

  /** Creates the exception queue of a queue unless there is one. */
  async ensureExceptionQueue(row: QueueRow): Promise<void> {
    if ((await this.find(exceptionQueueName(row.name))) === undefined) await this.#createExceptionQueue(row);
  }

  async #createExceptionQueue(row: QueueRow): Promise<void> {
    const { name, attemptsCounted: _attemptsCounted, ...same } = row;
    const exceptions: QueueRow = {
      ...same,
      name: exceptionQueueName(name),
      type: 'queue',
      attemptsMax: null,
      attemptsCounted: 'on-return',
      retryDelayMs: 0,
      enqueueEnabled: true,
      dequeueEnabled: true,
    };
    // An interrupted creation has left it, and it fits this creation, or another process has just created it.
    await this.createStream(exceptions).catch((error: unknown) => {
      if (!(error instanceof QueueError && error.code === 'QUEUE_EXISTS')) throw error;
    });
  }

  /** Creates the stream and its consumer. Throws `QUEUE_EXISTS`, `STREAM_FOREIGN`. `metadata` is added to that of the queue. */
  async createStream(row: QueueRow, more: Record<string, string> = {}): Promise<void> {
    const config = streamConfigOf(row);
    const creation = nuid.next();
    const { manager } = this.#link;
    const existing = await this.find(row.name);
    if (existing !== undefined) {
      rowOfStream(existing); // STREAM_FOREIGN
      throw new QueueError('QUEUE_EXISTS', { details: { queue: row.name } });
    }
    // A creation whose answer was lost is repeated with the same mark, and only that is the same configuration.
    const metadata = { ...config.metadata, ...more, [creationKey]: creation };
    await this.#link.call(async () => {
      try {
        await manager.streams.add({ ...config, metadata });
      } catch (error) {
        if (!(error instanceof JetStreamApiError) || error.code !== apiErrorCodes.streamNameInUse)
          throw error;
        throw new QueueError('QUEUE_EXISTS', { details: { queue: row.name } });
      }
    });
    if (row.type === 'queue') await this.#addQueueConsumer(row.name);
  }

  async #addQueueConsumer(name: string): Promise<void> {
    const config = consumerConfigOf(name, this.#options.ackWaitMs);
    await this.#link.call(() => this.#link.manager.consumers.add(streamOf(name), config));
  }

  /** The stream of this name, ours or not, as its leader has it. Throws `INSTANCE_UNREACHABLE` while there is no leader. */
  async find(name: string): Promise<StreamInfo | undefined> {
    return this.#find(name, (stream) => {
      if (!isOfLeader(stream)) throw new Error('The stream has no leader');
    });
  }

  /** `assertUsable` throws for an answer that cannot be used: the request is then repeated. */
  async #find(name: string, assertUsable: (stream: StreamInfo) => void): Promise<StreamInfo | undefined> {
    assertName('queue', name);
    try {
      return await this.#link.call(async () => {
        const stream = await this.#link.manager.streams.info(streamOf(name));
        assertUsable(stream);
        return stream;
      });
    } catch (error) {
      if (error instanceof QueueError && error.code === 'QUEUE_NOT_FOUND') return undefined;
      throw error;
    }
  }

  /** Throws `QUEUE_NOT_FOUND`, `STREAM_FOREIGN`. The row is at most `queueRowMsMax` older than the answer of `#readAnywhere`. */
  async row(name: string): Promise<QueueRow> {
    assertName('queue', name);
    const known = this.#rows.get(name);
    if (known !== undefined && performance.now() - known.readAtMs < storeLimits.queueRowMsMax)
      return known.row;
    return (await this.#readAnywhere(name)).row;
  }

  /** Reads the queue from its leader. */
  async #read(name: string): Promise<{ row: QueueRow; stream: StreamInfo }> {
    const readAtMs = performance.now();
    return this.#noteRow(name, await this.find(name), readAtMs);
  }

  /** Reads the queue from any server. The configuration may be outdated if that server is cut off; do not use the counts. */
  async #readAnywhere(name: string): Promise<{ row: QueueRow; stream: StreamInfo }> {
    const readAtMs = performance.now();
    return this.#noteRow(name, await this.#find(name, () => undefined), readAtMs);
  }

  #noteRow(
    name: string,
    stream: StreamInfo | undefined,
    readAtMs: number,
  ): { row: QueueRow; stream: StreamInfo } {
    if (stream === undefined) {
      this.#forget(name);
      throw new QueueError('QUEUE_NOT_FOUND', { details: { queue: name } });
    }
    const row = rowOfStream(stream);
    this.#rows.set(name, { row, readAtMs });
    return { row, stream };
  }

  #forget(name: string): void {
    this.#rows.delete(name);
    for (const [key, { stream }] of this.#consumers)
      if (stream === streamOf(name)) this.#consumers.delete(key);
  }

  /** The consumer of a queue or of a topic's subscriber. Throws `SUBSCRIBER_NOT_FOUND`. */
  async consumer(queue: string, subscriber: string | undefined): Promise<Consumer> {
    const consumer = subscriber === undefined ? queueConsumer : subscriberConsumer(subscriber);
    const key = `${queue} ${consumer}`;
    const known = this.#consumers.get(key);
    if (known !== undefined) return known;
    const stream = streamOf(queue);
    const read = () => this.#link.call(() => this.#link.manager.consumers.info(stream, consumer));
    let found: Awaited<ReturnType<typeof read>>;
    try {
      found = await read();
    } catch (error) {
      const isMissing = error instanceof QueueError && error.code === 'SUBSCRIBER_NOT_FOUND';
      if (!isMissing || subscriber !== undefined) throw error;
      await this.#addQueueConsumer(queue); // its creation was cut off
      found = await read();
    }
    const added = { stream, consumer, ackWaitMs: (found.config.ack_wait ?? 0) / 1_000_000 };
    this.#consumers.set(key, added);
    return added;
  }

  /** Forgets the consumer, so that it is read again: it may have been dropped and created. */
  forgetConsumer(queue: string): void {
    this.#forget(queue);
  }

  async drop(name: string, options: DropQueueOptions = {}): Promise<void> {
    assertFields(options, dropQueueFields);
    const { row } = await this.#readAnywhere(name);
    if (name.endsWith('.exceptions')) {
      const owner = await this.find(name.slice(0, -'.exceptions'.length));
      if (owner !== undefined && isOurs(owner))
        throw new QueueError('QUEUE_IN_USE', {
          message: `${name} is the exception queue of ${rowOfStream(owner).name}, and is dropped with it`,
          details: { queue: name, user: rowOfStream(owner).name },
        });
    }
    const exceptions = row.attemptsMax === null ? undefined : exceptionQueueName(name);
    if (exceptions !== undefined && options.withExceptions !== true) {
      const left = await this.find(exceptions);
      if (left !== undefined) assertNoExceptions(name, exceptions, await this.info(exceptions));
    }
    for (const each of exceptions === undefined ? [name] : [name, exceptions]) await this.deleteStream(each);
  }

  /** Deletes the stream of a queue by itself, if it is there. */
  async deleteStream(name: string): Promise<void> {
    try {
      await this.#link.call(() => this.#link.manager.streams.delete(streamOf(name)));
    } catch (error) {
      // The answer to a first attempt may have been lost.
      if (!(error instanceof QueueError && error.code === 'QUEUE_NOT_FOUND')) throw error;
    }
    this.#forget(name);
  }

  async setEnabled(
    name: string,
    enabled: boolean,
    which: { enqueue?: boolean; dequeue?: boolean } = { enqueue: true, dequeue: true },
  ): Promise<QueueInfo> {
    assertFields(which, whichFields);
    // A half that is left out is meant only if the other one is not.
    const { enqueue = which.dequeue !== true, dequeue = which.enqueue !== true } = which;
    const change = nuid.next();
    const marks = {
      ...(enqueue && { [changeKeys.enqueue]: change }),
      ...(dequeue && { [changeKeys.dequeue]: change }),
    };
    for (;;) {
      const { row, stream } = await this.#read(name);
      const changed: QueueRow = {
        ...row,
        ...(enqueue && { enqueueEnabled: enabled }),
        ...(dequeue && { dequeueEnabled: enabled }),
      };
      await this.#update(stream, changed, marks);
      // The servers take an update of what has changed since it was read. A process that had read before this update writes soon
      // after it, with the marks that both have found: then this change is lost, and made again.
      await pause(storeLimits.retryPauseMs);
      const now = await this.#read(name);
      const isLost = Object.entries(marks).some(([key, mark]) => {
        const found = now.stream.config.metadata?.[key];
        return found !== mark && found === stream.config.metadata?.[key];
      });
      if (!isLost) return this.#describe(now.row, now.stream);
    }
  }

  /** Writes what is stored of a queue anew, at once. `more` is added to its metadata. */
  async rewrite(row: QueueRow, more: Record<string, string>): Promise<void> {
    const { stream } = await this.#read(row.name);
    await this.#update(stream, row, more);
  }

  async #update({ config }: StreamInfo, row: QueueRow, more: Record<string, string>): Promise<void> {
    const metadata = { ...config.metadata, ...metadataOf(row), ...more };
    await this.#link.call(() =>
      this.#link.manager.streams.update(streamOf(row.name), { ...config, metadata }),
    );
    this.#rows.delete(row.name);
  }

  async info(name: string): Promise<QueueInfo> {
    const { row, stream } = await this.#read(name);
    return this.#describe(row, stream);
  }

  async list(): Promise<QueueInfo[]> {
    const streams = await this.#link.call(async () => {
      const found: StreamInfo[] = [];
      for await (const stream of this.#link.manager.streams.list(subjectsOfAllQueues)) found.push(stream);
      return found;
    });
    const names = new Set(streams.map(({ config }) => config.name));
    const infos = streams.filter(isOurs).map(async (stream) => {
      const row = rowOfStream(stream);
      const current = isOfLeader(stream) ? stream : await this.find(row.name);
      return current === undefined ? [] : [await this.#describe(row, current, names)];
    });
    return (await Promise.all(infos)).flat();
  }

  /** `names`: of all streams, if they are known. */
  async #describe(row: QueueRow, { state }: StreamInfo, names?: ReadonlySet<string>): Promise<QueueInfo> {
    const { name, type, shards, durability, enqueueEnabled, dequeueEnabled } = row;
    const { attemptsMax, attemptsCounted, retryDelayMs } = row;
    const exceptions = exceptionQueueName(name);
    const hasExceptions = names?.has(streamOf(exceptions)) ?? (await this.find(exceptions)) !== undefined;
    const { ready, held } =
      type === 'queue'
        ? await this.consumerCounts(await this.consumer(name, undefined))
        : await this.#longestBacklog(name);
    return {
      ...defaultQueueSettings,
      name,
      type,
      shards,
      durability,
      attemptsMax,
      attemptsCounted,
      retryDelayMs,
      forwarding: false,
      cacheBytes: 0,
      exceptionQueue: hasExceptions ? exceptions : null,
      enqueueEnabled,
      dequeueEnabled,
      ready,
      held,
      delayed: type === 'queue' ? Math.max(0, state.messages - ready - held) : 0,
      enqueued: state.last_seq,
      consumed: state.last_seq - state.messages,
      forwardedIn: 0,
      forwardedOut: 0,
      refused: 0,
      lost: 0,
    };
  }

  /** `held` has what was returned and not taken since, too; `waiting`: requests that wait for a message. */
  async consumerCounts({ stream, consumer }: Pick<Consumer, 'stream' | 'consumer'>) {
    const counts = await this.#link.call(() => this.#link.manager.consumers.info(stream, consumer));
    return { ready: counts.num_pending, held: counts.num_ack_pending, waiting: counts.num_waiting };
  }

  async #longestBacklog(topic: string): Promise<{ ready: number; held: number }> {
    const all = await this.subscribers(topic);
    const [longest] = all.sort((a, b) => b.backlog - a.backlog);
    return longest === undefined
      ? { ready: 0, held: 0 }
      : { ready: longest.backlog - longest.held, held: longest.held };
  }

  async subscribe(topic: string, spec: SubscriberSpec): Promise<SubscriberInfo> {
    await this.#assertTopic(topic);
    assertFields(spec, subscriberFields);
    const { name, durable = true } = spec;
    const fault = subscriberNameFault(name);
    if (fault !== undefined) throw new QueueError('OPTIONS_INVALID', { message: fault });
    const existing = (await this.subscribers(topic)).find((each) => each.name === name);
    if (existing !== undefined) {
      if (existing.durable === durable) return existing;
      throw new QueueError('SUBSCRIBER_EXISTS', { details: { topic, name } });
    }
    const consumer = subscriberConsumer(name);
    const { durable_name: _durable, ...config } = consumerConfigOf(topic, this.#options.ackWaitMs);
    await this.#link.call(() =>
      this.#link.manager.consumers.add(streamOf(topic), {
        ...config,
        ...(durable
          ? { durable_name: consumer }
          : { name: consumer, inactive_threshold: nanos(storeLimits.nondurableIdleMs) }),
        deliver_policy: DeliverPolicy.New,
        filter_subject: shardSubjects(topic),
        metadata: { [subscriberKey]: name, [durableKey]: String(durable) },
      }),
    );
    if (!durable) this.#nondurable.set(`${topic} ${consumer}`, { topic, name });
    return { name, durable, backlog: 0, held: 0, lagMs: 0 };
  }

  async unsubscribe(topic: string, name: string): Promise<void> {
    await this.#assertTopic(topic);
    assertName('name', name);
    const consumer = subscriberConsumer(name);
    await this.#link.call(() => this.#link.manager.consumers.delete(streamOf(topic), consumer));
    this.#consumers.delete(`${topic} ${consumer}`);
    this.#nondurable.delete(`${topic} ${consumer}`);
  }

  async subscribers(topic: string): Promise<SubscriberInfo[]> {
    await this.#assertTopic(topic);
    return this.#link.call(async () => {
      const found: SubscriberInfo[] = [];
      for await (const { config, num_pending, num_ack_pending } of this.#link.manager.consumers.list(
        streamOf(topic),
      )) {
        const name = config.metadata?.[subscriberKey];
        if (name === undefined) continue;
        found.push({
          name,
          durable: config.metadata?.[durableKey] === 'true',
          backlog: num_pending + num_ack_pending,
          held: num_ack_pending,
          lagMs: 0,
        });
      }
      return found;
    });
  }

  async #assertTopic(topic: string): Promise<void> {
    const { type } = await this.row(topic);
    if (type !== 'topic')
      throw new QueueError('OPTIONS_INVALID', { message: `${topic} is a queue: it has no subscribers` });
  }

  /** Removes the nondurable subscribers that this store added. */
  async close(): Promise<void> {
    for (const { topic, name } of [...this.#nondurable.values()]) {
      await this.unsubscribe(topic, name).catch(() => undefined); // the servers remove it after a while
    }
  }
}
