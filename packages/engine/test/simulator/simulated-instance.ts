/** One instance over a file in memory, which can be opened, killed and opened again. */
import { QueueError } from '../../src/api/errors.ts';
import { CommitOutcomes } from '../../src/commit/commit-outcomes.ts';
import type { QueueRow } from '../../src/model/queue-row.ts';
import type { SubscriberRow } from '../../src/model/subscriber-row.ts';
import { WaitRecorder } from '../../src/model/wait-recorder.ts';
import type { DeliveryLease } from '../../src/queues/delivery-lease.ts';
import { assembleParts, type ShardedOptions, type ShardedParts } from '../../src/runtime/assemble-sharded.ts';
import { InstanceSession } from '../../src/runtime/instance-session.ts';
import { recoverSharded } from '../../src/runtime/recover-sharded.ts';
import { MemoryFile } from './memory-file.ts';
import { MemoryReader, MemoryWriter, type WriterFaults } from './memory-writer.ts';
import { type Chance, type Scheduler, SimulatedPorts } from './scheduler.ts';
import type { NetworkEnd, SimulatedNetwork } from './simulated-interconnect.ts';

export interface SimulatedInstanceOptions {
  instance: number;
  /** Ids of all instances of the cluster. */
  instances: readonly number[];
  scheduler: Scheduler;
  chance: Chance;
  network: SimulatedNetwork;
  queues: readonly QueueRow[];
  /** The subscribers of each topic among the queues. Default: none. */
  subscribers?: readonly SubscriberRow[];
  /** Called when an opening begins to keep messages for the subscribers. */
  onSubscribed?(instance: number): void;
  cacheBytesMax: number;
  partitionMessagesMax: number;
  consumerIdleMs: number;
  /** The instance whose file has the application's tables. Default: each has its own tables, like instances of different folders. */
  sqlInstance?: number;
  /** By how many groups the tables may be behind what is durable. Default: 0. */
  lag?: number;
}

/** The lease of one opening, which can lapse as a fault until it is renewed. A replacement by another process is simulated as a kill. */
export class SimulatedLease implements DeliveryLease {
  lapsed = false;

  isHeld(): boolean {
    return !this.lapsed;
  }

  assertHeld(): void {
    if (!this.isHeld()) throw new QueueError('LEASE_LAPSED');
  }
}

/** One opening of an instance. No part of it continues after a kill. */
export interface Opening {
  waits: WaitRecorder;
  parts: ShardedParts;
  ports: SimulatedPorts;
  end: NetworkEnd;
  lease: SimulatedLease;
  /** The storage failure with which the opening has ended, after which it serves nothing. */
  failed: QueueError | undefined;
  /** Whether it keeps messages for the subscribers of its topics. */
  hasSubscribers: boolean;
}

export class SimulatedInstance {
  readonly instance: number;
  readonly file = new MemoryFile();
  readonly faults: WriterFaults = { next: undefined };
  opening: Opening | undefined;
  readonly #options: SimulatedInstanceOptions;
  #lastSession = 0;

  constructor(options: SimulatedInstanceOptions) {
    this.instance = options.instance;
    this.#options = options;
  }

  open(): void {
    const { scheduler, chance, network, queues, instance, instances } = this.#options;
    const ports = new SimulatedPorts(scheduler, chance);
    const waits = new WaitRecorder({ clock: ports.clock });
    const writer = new MemoryWriter(this.file, ports, {
      chance,
      faults: this.faults,
      lag: this.#options.lag ?? 0,
    });
    const reader = new MemoryReader(this.file, ports, chance);
    const recovered = this.file.recover();
    const lease = new SimulatedLease();
    const options: ShardedOptions = {
      dir: 'in memory',
      instance,
      ports,
      cacheBytesMax: this.#options.cacheBytesMax,
      partitionMessagesMax: this.#options.partitionMessagesMax,
      emulatedSync: { times: [0], device: undefined },
      logBytesMax: 2 ** 30,
      sampleIntervalMs: 60_000,
      traceEvery: 64,
      writerReservationMsMax: 1_000,
      sqlLockMsMax: 5_000,
      lease,
      waits,
      outcomes: new CommitOutcomes(ports.clock),
      queues,
      everExisted: () => true,
      sqlInstance: () => this.#options.sqlInstance ?? instance,
      exceptionQueueOf: ({ exceptionQueueId }) => queues.find(({ queueId }) => queueId === exceptionQueueId),
      queueById: (queueId) => queues.find((queue) => queue.queueId === queueId),
      subscribers: (queueId) => this.#subscribersOf(queueId),
      freeDiskBytes: async () => Number.POSITIVE_INFINITY,
      assertFilesInPlace: async () => undefined,
      onFatal: (error) => {
        opening.failed = error;
      },
    };
    const parts = assembleParts(options, { writer, reader, recovered });
    const { forwarding, homeInstances, branches, passedOn } = parts;
    const end: NetworkEnd = { instance, forwarding, homeInstances, branches, alive: true };
    const opening: Opening = { parts, ports, end, waits, lease, failed: undefined, hasSubscribers: false };
    writer.attach(parts.groupCommit);
    recoverSharded(parts, options, recovered);
    network.attach(end);
    const interconnect = network.interconnectOf(end, instances, this.#options.consumerIdleMs);
    homeInstances.peers = interconnect;
    passedOn.peers = interconnect;
    if (instances.length > 1) forwarding.connect(interconnect);
    this.opening = opening;
    if (this.#options.subscribers !== undefined) this.#subscribe(opening);
  }

  #subscribersOf(queueId: number): readonly SubscriberRow[] {
    const { queues, subscribers = [] } = this.#options;
    return queues.some((row) => row.queueId === queueId && row.type === 'topic') ? subscribers : [];
  }

  /** Adds the subscribers as an instance does with those of its catalog, and repeats that after a failure. */
  #subscribe(opening: Opening): void {
    const { queues, onSubscribed } = this.#options;
    const topics = queues.filter(({ type }) => type === 'topic');
    const { engine } = opening.parts;
    const apply = (topic: QueueRow) =>
      engine.topics.applySubscribers(topic, () => this.#subscribersOf(topic.queueId));
    Promise.all(topics.map(apply)).then(
      () => {
        opening.hasSubscribers = true;
        if (this.opening === opening) onSubscribed?.(this.instance);
      },
      () => opening.ports.after(100, () => this.#subscribe(opening)),
    );
  }

  /** Lets the lease lapse for `ms`, in which the present opening may deliver nothing. */
  lapseLease(ms: number): void {
    const { lease, ports } = this.opening!;
    lease.lapsed = true;
    ports.after(ms, () => this.renewLease());
  }

  renewLease(): void {
    const { lease, parts } = this.opening!;
    if (!lease.lapsed) return;
    lease.lapsed = false;
    parts.queues.serveAllWaiters();
  }

  /** Kills the instance; returns how many unsynced groups the file kept and lost. */
  kill(): { kept: number; lost: number } {
    const { ports, end } = this.opening!;
    ports.end();
    this.#options.network.detach(end);
    this.opening = undefined;
    this.faults.next = undefined;
    return this.file.crash(this.#options.chance);
  }

  openSession(): InstanceSession {
    const opening = this.opening!;
    const { engine, queues, branches } = opening.parts;
    this.#lastSession += 1;
    const context = {
      findQueue: (name: string) => {
        if (opening.failed !== undefined) throw opening.failed;
        const row = this.#options.queues.find((queue) => queue.name === name);
        if (row === undefined) throw new QueueError('QUEUE_NOT_FOUND');
        return { row, engine };
      },
      sqlEngine: () => engine,
      shardedEngine: () => engine,
      branches: () => {
        if (opening.failed !== undefined) throw opening.failed;
        return branches;
      },
      assertAcceptsMessages: () => {},
      onSessionClosed: (session: number) => queues.unbindSession(session),
    };
    const time = opening.waits.openSession();
    return new InstanceSession(this.instance, this.#lastSession, context, time);
  }
}
