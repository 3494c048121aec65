/** Opens the store: queues and topics on the servers of a NATS cluster, behind the engine's sessions. */
import type {
  ClientSessionOptions,
  DropQueueOptions,
  NatsStoreOptions,
  QueueInfo,
  QueueStore,
  StoreCapabilities,
} from '@shardlab/engine';
import { QueueError } from '@shardlab/engine';
import {
  assertFields,
  browseFields,
  clientSessionFields,
  fieldsOf,
  invalidArgument,
  natsStoreOptionKinds,
} from '@shardlab/engine/store-rules';
import { type BrowseOptions, browseQueue } from './browse-queue.ts';
import { capabilitiesOf, unsupported } from './capabilities.ts';
import { Deliveries } from './deliveries.ts';
import { JetStreamSession, type SessionContext } from './jetstream-session.ts';
import { QueueCatalog } from './queue-catalog.ts';
import type { JetStreamQueueSpec } from './queue-config.ts';
import { type LinkOptions, ServerLink } from './server-link.ts';
import { ShardBindings } from './shard-bindings.ts';
import { storeLimits } from './store-limits.ts';
import { streamOf } from './stream-names.ts';
import { TimedHolds } from './timed-holds.ts';

export interface JetStreamOptions extends LinkOptions, NatsStoreOptions {}

export interface JetStreamStore extends QueueStore {
  createQueue(spec: JetStreamQueueSpec): Promise<QueueInfo>;
}

const storeFields = fieldsOf<JetStreamOptions>('openJetStream', { servers: 'any', ...natsStoreOptionKinds });

/**
 * Throws `OPTIONS_INVALID`, `INSTANCE_UNREACHABLE`, `STORE_UNAUTHORIZED`, and `STORE_TOO_OLD` for servers before 2.12.
 * Sessions and calls reconnect by themselves.
 */
export async function openJetStream(options: JetStreamOptions): Promise<JetStreamStore> {
  assertFields(options, storeFields);
  assertOneOf('sync', options.sync, ['always', 'interval']);
  assertOneOf('transactions', options.transactions, ['atomic', 'enqueue-first']);
  assertOneOf('replicas', options.replicas, [1, 3, 5]);
  const { sync = 'interval', transactions = 'atomic', replicas = 1 } = options;
  const ackWaitMs = within('ackWaitMs', options.ackWaitMs ?? storeLimits.ackWaitMsDefault, [
    storeLimits.ackWaitMsMin,
    storeLimits.ackWaitMsMax,
  ]);
  const prefetch = within('prefetch', options.prefetch ?? storeLimits.prefetchDefault, [
    0,
    storeLimits.prefetchMax,
  ]);
  const outcomeMs = within('outcomeMs', options.outcomeMs ?? storeLimits.outcomeMsDefault, [
    1_000,
    storeLimits.outcomeMsMax,
  ]);
  const link = await ServerLink.open(options);
  const catalog = new QueueCatalog(link, { sync, replicas, ackWaitMs });
  const deliveries = new Deliveries(link, catalog, { prefetch, outcomeMs });
  return new OpenStore(link, catalog, deliveries, capabilitiesOf(options), {
    enqueuesFirst: transactions === 'enqueue-first',
    outcomeMs,
  });
}

function assertOneOf(option: string, value: unknown, values: readonly unknown[]): void {
  if (value !== undefined && !values.includes(value))
    throw invalidArgument(option, `one of ${values.join(', ')}`, value);
}

function within(option: string, value: number, [least, most]: [number, number]): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new QueueError('OPTIONS_INVALID', {
    message: `${option} must be a whole number from ${least} to ${most}, not ${value}`,
    details: { option, value, least, most },
  });
}

class OpenStore implements JetStreamStore {
  readonly capabilities: StoreCapabilities;
  readonly transactionMessagesMax = storeLimits.batchMessagesMax;
  readonly #link: ServerLink;
  readonly #catalog: QueueCatalog;
  readonly #deliveries: Deliveries;
  readonly #context: SessionContext;
  readonly #sessions = new Set<JetStreamSession>();
  #closing: Promise<void> | undefined;

  constructor(
    link: ServerLink,
    catalog: QueueCatalog,
    deliveries: Deliveries,
    capabilities: StoreCapabilities,
    options: Pick<SessionContext, 'enqueuesFirst' | 'outcomeMs'>,
  ) {
    this.#link = link;
    this.#catalog = catalog;
    this.#deliveries = deliveries;
    this.capabilities = capabilities;
    this.#context = {
      ...options,
      link,
      catalog,
      deliveries,
      timedHolds: new TimedHolds(deliveries),
      shards: new ShardBindings(),
      onClosed: (session) => this.#sessions.delete(session),
    };
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new QueueError('INSTANCE_CLOSED');
  }

  async createQueue(spec: JetStreamQueueSpec): Promise<QueueInfo> {
    this.#assertOpen();
    return this.#catalog.create(spec);
  }

  async dropQueue(name: string, options: DropQueueOptions = {}): Promise<void> {
    this.#assertOpen();
    await this.#catalog.drop(name, options);
  }

  async startQueue(name: string, which?: { enqueue?: boolean; dequeue?: boolean }): Promise<QueueInfo> {
    this.#assertOpen();
    return this.#catalog.setEnabled(name, true, which);
  }

  async stopQueue(name: string, which?: { enqueue?: boolean; dequeue?: boolean }): Promise<QueueInfo> {
    this.#assertOpen();
    return this.#catalog.setEnabled(name, false, which);
  }

  async queues(): Promise<QueueInfo[]> {
    this.#assertOpen();
    return this.#catalog.list();
  }

  async queue(name: string): Promise<QueueInfo> {
    this.#assertOpen();
    return this.#catalog.info(name);
  }

  async subscribe(topic: string, subscriber: Parameters<JetStreamStore['subscribe']>[1]) {
    this.#assertOpen();
    return this.#catalog.subscribe(topic, subscriber);
  }

  async unsubscribe(topic: string, name: string): Promise<void> {
    this.#assertOpen();
    await this.#catalog.unsubscribe(topic, name);
  }

  async subscribers(topic: string) {
    this.#assertOpen();
    return this.#catalog.subscribers(topic);
  }

  openSession(options: ClientSessionOptions = {}): JetStreamSession {
    this.#assertOpen();
    assertFields(options, clientSessionFields);
    if ((options.prefetch ?? 0) > 0) throw unsupported('pipelines');
    const session = new JetStreamSession(this.#context);
    this.#sessions.add(session);
    return session;
  }

  async browse(queue: string, options: BrowseOptions = {}) {
    this.#assertOpen();
    assertFields(options, browseFields);
    if (options.processed === true) throw unsupported('retention');
    const { type } = await this.#catalog.row(queue);
    if (type === 'topic') throw unsupported('browseTopics');
    const stream = streamOf(queue);
    return browseQueue(this.#link, queue, options, (sequence) =>
      this.#deliveries.holds.holdsSequence(stream, sequence),
    );
  }

  /** Resolves when JetStream answers. */
  async probe(): Promise<void> {
    this.#assertOpen();
    await this.#link.call(() => this.#link.manager.getAccountInfo());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.close()));
    await this.#context.timedHolds.close();
    await this.#deliveries.close();
    await this.#catalog.close();
    await this.#link.close();
  }
}
