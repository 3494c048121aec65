/** What every load of the torture is made of: sessions that note what they try and what was acknowledged. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Instance, type Message, QueueError, type Session } from '@shardlab/engine';
import { type Item, itemPayload, readItem } from './item.ts';
import { type Delivered, writeNote } from './notes.ts';
import type { Random } from './random.ts';
import type { SelfKill } from './self-kill.ts';

/** One kind of load on queues of its own. Add one to `actors/index.ts` and it takes part. */
export interface Actor {
  /** Short: part of every item's name. */
  name: string;
  /** Whether all instances of a folder work on the same messages; default false: each has its own. */
  shared?: boolean;
  /** Makes its queues where they are missing; several processes may do so at once. */
  setUp(instance: Instance): Promise<void>;
  /** Begins its sessions, which go on until the process is killed. */
  start(work: Work): void;
  /** All that its queues hold, in the order in which it is handed out; nothing is consumed. */
  inspect(instance: Instance): Promise<Delivered[]>;
}

/** Makes a queue unless it is there, whoever else does the same. */
export async function ensureQueue(
  instance: Instance,
  spec: Parameters<Instance['createQueue']>[0],
): Promise<void> {
  try {
    if (!hasQueue(instance, spec.name)) await instance.createQueue(spec);
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
  options: { ordered: boolean; subscriber?: string },
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
      delivered.push({ item: `${item}${suffix}`, shard: options.ordered ? shard : '' });
    }
  }
  return delivered;
}

/** What calls get once the process was asked to close its instance. */
const whileClosing: readonly string[] = ['INSTANCE_CLOSED', 'SESSION_CLOSED'];

export interface WorkOptions {
  actor: string;
  instance: Instance;
  /** Of this process among all of the folder: its sessions have names that no other has. */
  life: string;
  random: Random;
  selfKill: SelfKill;
  onCommitted(): void;
}

export class Work {
  readonly instance: Instance;
  readonly random: Random;
  readonly #options: WorkOptions;
  #sessions = 0;
  #transactions = 0;

  constructor(options: WorkOptions) {
    this.#options = options;
    this.instance = options.instance;
    this.random = options.random;
  }

  /** Runs a session's loop until the process ends. What nothing explains ends it at once. */
  forever(turn: (session: Session, items: ItemSource) => Promise<void>): void {
    const items = new ItemSource(`${this.#options.actor}:${this.#options.life}-${this.#sessions}`);
    this.#sessions += 1;
    const loop = async () => {
      let session = this.instance.openSession();
      for (;;) {
        await turn(session, items);
        if (!this.random.chance(0.02)) continue;
        await session.close(); // gives back what it holds
        session = this.instance.openSession();
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

  delivered(delivered: Delivered[]): void {
    if (delivered.length > 0) writeNote({ kind: 'delivered', delivered });
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
    const { actor, life, selfKill, onCommitted } = this.#options;
    this.#transactions += 1;
    const transaction = `${actor}:${life}:${this.#transactions}`;
    writeNote({ kind: 'about', transaction, puts, takes });
    const committing = session.commit();
    selfKill.onSubmitted();
    try {
      await committing;
    } catch (error) {
      if (!(error instanceof QueueError && refusedWith.includes(error.code))) throw error;
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
    while (this.instance.queue(queue).ready > readyMax) await pause(1);
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
