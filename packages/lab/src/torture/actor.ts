/** What every load of the torture is made of: sessions that note what they try and what was acknowledged. */
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
import { type Delivered, movingShard, writeNote } from './notes.ts';
import type { Random } from './random.ts';
import type { SelfKill } from './self-kill.ts';
import type { Role } from './task.ts';

/** What a load works on: an instance in its own process, or one that another process serves. */
export type Host = Instance | RemoteInstance;

/** One kind of load on queues of its own. Add one to `actors/index.ts` and it takes part. */
export interface Actor {
  /** Short: part of every item's name. */
  name: string;
  /** Whether all instances of a folder work on the same messages; default false: each has its own. */
  shared?: boolean;
  /** Whether its messages move to where they are wanted. */
  forwards?: boolean;
  /** Makes its queues where they are missing; several processes may do so at once. */
  setUp(host: Host): Promise<void>;
  /** Begins its sessions, which go on until the process is killed. */
  start(work: Work): void;
  /**
   * All that its queues hold on an instance, or on all of them if they share their messages, in the order in which it is
   * handed out; nothing is consumed.
   */
  inspect(instance: Instance, all: readonly Instance[]): Promise<Delivered[]>;
}

/** Makes a queue unless it is there, whoever else does the same. Its messages stay where they are unless it says otherwise. */
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

/** A consumer's items of what it was handed; a damaged payload is noted and left out. */
export function itemsOf(
  messages: readonly Message[],
  options: { ordered: boolean; subscriber?: string; moves?: boolean },
): Delivered[] {
  const delivered: Delivered[] = [];
  for (const { id, payload } of messages) {
    const item = readItem(payload);
    if (item === undefined)
      writeNote({ kind: 'damaged', text: `${id}: ${payload.toString('latin1', 0, 60)}` });
    else {
      const suffix = options.subscriber === undefined ? '' : `@${options.subscriber}`;
      // A message of an unsharded queue has no shard in its id: all of them are in one order.
      const shard = id.includes('.') ? id.slice(0, id.indexOf('.')) : '0';
      const place = options.moves ? movingShard(shard) : shard;
      delivered.push({ item: `${item}${suffix}`, shard: options.ordered ? place : '' });
    }
  }
  return delivered;
}

/** With these nothing was done, and the call may be made again: what a client meets when its instance fails over. */
const passing: readonly string[] = ['TX_NOT_COMMITTED', 'INSTANCE_UNREACHABLE', 'LEASE_LAPSED'];

export function isPassing(error: unknown): boolean {
  return error instanceof QueueError && passing.includes(error.code);
}

/** What calls get once the process was asked to close its instance. */
const whileClosing: readonly string[] = ['INSTANCE_CLOSED', 'SESSION_CLOSED'];

export interface WorkOptions {
  actor: string;
  host: Host;
  /** Of this process among all of the folder: its sessions have names that no other has. */
  life: string;
  random: Random;
  /** Whether the host is in another process, which may fail and be taken over meanwhile. */
  isClient: boolean;
  role: Role;
  selfKill: SelfKill;
  onCommitted(): void;
}

export class Work {
  readonly host: Host;
  readonly role: Role;
  readonly random: Random;
  readonly #options: WorkOptions;
  #sessions = 0;
  #transactions = 0;

  constructor(options: WorkOptions) {
    this.#options = options;
    this.host = options.host;
    this.role = options.role;
    this.random = options.random;
  }

  /** Runs a session's loop until the process ends. What nothing explains ends it at once. */
  forever(turn: (session: Session, items: ItemSource) => Promise<void>): void {
    const items = new ItemSource(`${this.#options.actor}:${this.#options.life}-${this.#sessions}`);
    this.#sessions += 1;
    const loop = async () => {
      let session = this.host.openSession();
      for (;;) {
        await this.#unlessPassing(session, turn(session, items));
        if (!this.random.chance(0.02)) continue;
        await session.close(); // gives back what it holds
        session = this.host.openSession();
      }
    };
    loop().catch((error: unknown) => {
      if (error instanceof QueueError && whileClosing.includes(error.code)) return;
      writeNote({
        kind: 'failed',
        text: `${this.#options.actor}: ${(error as Error).stack ?? String(error)}`,
      });
      process.exit(1);
    });
  }

  async #unlessPassing(session: Session, turn: Promise<void>): Promise<void> {
    try {
      await turn;
    } catch (error) {
      if (!this.#options.isClient || !isPassing(error)) throw error;
      await session.rollback();
    }
  }

  /** A client cannot see the order over a failover: what it was to get first may have been lost on its way. */
  delivered(delivered: readonly Delivered[]): void {
    if (delivered.length === 0) return;
    const seen = this.#options.isClient ? delivered.map(({ item }) => ({ item, shard: '' })) : [...delivered];
    writeNote({ kind: 'delivered', delivered: seen });
  }

  /**
   * Commits what the session has staged. `refusedWith` are codes that the load may meet, after which nothing is done;
   * returns false then.
   */
  async commit(
    session: Session,
    { puts = [], takes = [] }: { puts?: Item[]; takes?: Item[] },
    refusedWith: readonly string[] = [],
  ): Promise<boolean> {
    const { actor, life, selfKill, isClient, onCommitted } = this.#options;
    this.#transactions += 1;
    const transaction = `${actor}:${life}:${this.#transactions}`;
    writeNote({ kind: 'about', transaction, puts, takes });
    const committing = session.commit();
    selfKill.onSubmitted();
    try {
      await committing;
    } catch (error) {
      const code = error instanceof QueueError ? error.code : '';
      if (isClient && code === 'COMMIT_OUTCOME_UNKNOWN') return false; // the next look will tell
      if (!refusedWith.includes(code) && !(isClient && isPassing(error))) throw error;
      writeNote({ kind: 'refused', transaction });
      await session.rollback();
      return false;
    }
    selfKill.onAcknowledged();
    writeNote({ kind: 'committed', transaction });
    onCommitted();
    return true;
  }

  /** Waits while a queue has more than it should: a look into the folder is to stay short. */
  async untilRoom(queue: string, readyMax: number): Promise<void> {
    while ((await this.host.queue(queue)).ready > readyMax) await pause(this.#options.isClient ? 5 : 1);
  }

  payload(item: Item): string {
    return itemPayload(item, this.random.below(400));
  }
}

/** Names of a session's items, in the order in which it commits them. */
export class ItemSource {
  readonly #session: string;
  #no = 0;

  constructor(session: string) {
    this.#session = session;
  }

  next(count: number): Item[] {
    const from = this.#no;
    this.#no += count;
    return Array.from({ length: count }, (_, index) => `${this.#session}.${from + index}`);
  }
}
