/** The parts shared by all workloads of the torture test: sessions that note their attempts and their acknowledgements. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  type Instance,
  type Message,
  QueueError,
  type QueueSpec,
  type RemoteInstance,
  type Session,
} from '@shardlab/engine';
import { type Item, itemPayload, readItem } from './item.ts';
import { type Delivered, forwardedShard, writeNote } from './notes.ts';
import type { Random } from './random.ts';
import type { SelfKill } from './self-kill.ts';
import type { Role } from './worker-task.ts';

/** The instance that a workload uses: in its own process, or served by another process. */
export type Host = Instance | RemoteInstance;

/** One kind of workload, with queues of its own. Workloads are listed in `workloads/index.ts`. */
export interface TortureWorkload {
  /** Short, because it is part of every item name. */
  name: string;
  /** Whether all instances of a folder share the messages; default false: each has its own. */
  sharesMessages?: boolean;
  /** Whether messages are forwarded between instances. */
  forwards?: boolean;
  /** Creates missing queues; several processes may do so at the same time. */
  setUp(host: Host): Promise<void>;
  /** Starts the sessions, which run until the process is killed. */
  start(work: WorkloadContext): void;
  /**
   * The contents of its queues on an instance, or on all instances if they share the messages, in delivery order.
   * Consumes nothing.
   */
  inspect(instance: Instance, all: readonly Instance[]): Promise<Delivered[]>;
}

/** Creates a queue unless it exists; safe if several processes do so. Forwarding is off unless `spec` enables it. */
export async function ensureQueue(host: Host, spec: QueueSpec): Promise<void> {
  try {
    const queues = await host.queues();
    if (!queues.some((queue) => queue.name === spec.name))
      await host.createQueue({ forwarding: false, ...spec });
  } catch (error) {
    if (!(error instanceof QueueError && error.code === 'QUEUE_EXISTS')) throw error;
  }
}

export function hasQueue(instance: Instance, name: string): boolean {
  return instance.queues().some((queue) => queue.name === name);
}

/** The items of delivered messages. Damaged payloads are noted and left out. */
export function browseItems(
  messages: readonly Message[],
  options: { ordered: boolean; subscriber?: string; forwarded?: boolean },
): Delivered[] {
  const delivered: Delivered[] = [];
  for (const { id, payload } of messages) {
    const item = readItem(payload);
    if (item === undefined)
      writeNote({ kind: 'damaged', text: `${id}: ${payload.toString('latin1', 0, 60)}` });
    else {
      const suffix = options.subscriber === undefined ? '' : `@${options.subscriber}`;
      // Ids of an unsharded queue contain no shard: all its messages are in one order.
      const shard = id.includes('.') ? id.slice(0, id.indexOf('.')) : '0';
      const orderedShard = options.forwarded ? forwardedShard(shard) : shard;
      delivered.push({ item: `${item}${suffix}`, shard: options.ordered ? orderedShard : '' });
    }
  }
  return delivered;
}

/** Errors that a client gets while its instance fails over. Nothing was changed, so the call can be repeated. */
const transientCodes: readonly string[] = ['TX_NOT_COMMITTED', 'INSTANCE_UNREACHABLE', 'LEASE_LAPSED'];

export function isTransient(error: unknown): boolean {
  return error instanceof QueueError && transientCodes.includes(error.code);
}

/** Errors of calls after the process was asked to close its instance. */
const closingCodes: readonly string[] = ['INSTANCE_CLOSED', 'SESSION_CLOSED'];

export interface WorkloadContextOptions {
  workloadName: string;
  host: Host;
  /** Unique among all processes of the folder, so that session names are unique. */
  processName: string;
  random: Random;
  /** Whether the host is in another process, which may fail over meanwhile. */
  isClient: boolean;
  role: Role;
  selfKill: SelfKill;
  onCommitted(): void;
}

export class WorkloadContext {
  readonly host: Host;
  readonly role: Role;
  readonly random: Random;
  readonly #options: WorkloadContextOptions;
  #sessions = 0;
  #transactions = 0;

  constructor(options: WorkloadContextOptions) {
    this.#options = options;
    this.host = options.host;
    this.role = options.role;
    this.random = options.random;
  }

  /** Runs `turn` repeatedly until the process ends. An unexpected error ends the process at once. */
  runSessionLoop(turn: (session: Session, items: ItemSource) => Promise<void>): void {
    const items = new ItemSource(
      `${this.#options.workloadName}:${this.#options.processName}-${this.#sessions}`,
    );
    this.#sessions += 1;
    const loop = async () => {
      let session = this.host.openSession();
      for (;;) {
        await this.#rollbackIfTransient(session, turn(session, items));
        if (!this.random.chance(0.02)) continue;
        await session.close(); // returns held messages
        session = this.host.openSession();
      }
    };
    loop().catch((error: unknown) => {
      if (error instanceof QueueError && closingCodes.includes(error.code)) return;
      writeNote({
        kind: 'failed',
        text: `${this.#options.workloadName}: ${(error as Error).stack ?? String(error)}`,
      });
      process.exit(1);
    });
  }

  async #rollbackIfTransient(session: Session, turn: Promise<void>): Promise<void> {
    try {
      await turn;
    } catch (error) {
      if (!this.#options.isClient || !isTransient(error)) throw error;
      await session.rollback();
    }
  }

  /** A client cannot observe the order across a failover: deliveries may have been lost on their way to it. */
  noteDelivered(delivered: readonly Delivered[]): void {
    if (delivered.length === 0) return;
    const seen = this.#options.isClient ? delivered.map(({ item }) => ({ item, shard: '' })) : [...delivered];
    writeNote({ kind: 'delivered', delivered: seen });
  }

  /**
   * Commits the session's transaction. Returns false if it was refused with one of the expected codes `refusedWith`.
   */
  async commit(
    session: Session,
    { enqueues = [], consumes = [] }: { enqueues?: Item[]; consumes?: Item[] },
    refusedWith: readonly string[] = [],
  ): Promise<boolean> {
    const { workloadName, processName, selfKill, isClient, onCommitted } = this.#options;
    this.#transactions += 1;
    const transaction = `${workloadName}:${processName}:${this.#transactions}`;
    writeNote({ kind: 'about', transaction, enqueues, consumes });
    const committing = session.commit();
    selfKill.onSubmitted();
    try {
      await committing;
    } catch (error) {
      const code = error instanceof QueueError ? error.code : '';
      if (isClient && code === 'COMMIT_OUTCOME_UNKNOWN') return false; // the next inspection settles the outcome
      if (!refusedWith.includes(code) && !(isClient && isTransient(error))) throw error;
      writeNote({ kind: 'refused', transaction });
      await session.rollback();
      return false;
    }
    selfKill.onAcknowledged();
    writeNote({ kind: 'committed', transaction });
    onCommitted();
    return true;
  }

  /** Waits while the backlog is too large, so that inspections stay short. */
  async waitWhileBacklogAbove(queue: string, readyMax: number): Promise<void> {
    while ((await this.host.queue(queue)).ready > readyMax) await pause(this.#options.isClient ? 5 : 1);
  }

  payload(item: Item): string {
    return itemPayload(item, this.random.below(400));
  }
}

/** Generates the names of a session's items, in commit order. */
export class ItemSource {
  readonly #session: string;
  #nextSequence = 0;

  constructor(session: string) {
    this.#session = session;
  }

  next(count: number): Item[] {
    const from = this.#nextSequence;
    this.#nextSequence += count;
    return Array.from({ length: count }, (_, index) => `${this.#session}.${from + index}`);
  }
}
