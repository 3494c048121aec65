/** The parts shared by all workloads of the torture test: sessions whose calls are recorded. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  type Instance,
  type Message,
  type NewMessage,
  QueueError,
  type QueueSpec,
  type RemoteInstance,
} from '@shardlab/engine';
import { type DeliveredMessage, RecordedSession, type Recorder } from '@shardlab/history';
import type { Content, FolderHistory } from '../processes/folder-history.ts';
import { writeMoment } from '../processes/history-pipe.ts';
import type { Random } from '../processes/random.ts';
import type { SelfKill } from '../processes/self-kill.ts';
import type { Role } from '../processes/worker-task.ts';
import { type Item, itemPayload, readItem } from './item.ts';

/** The instance that a workload uses: in its own process, or served by another process. */
export type Host = Instance | RemoteInstance;

export type TortureSession = RecordedSession<Message, NewMessage>;

/** A message that an inspection reads. */
export interface Inspected {
  instance: Instance;
  all: readonly Instance[];
  history: FolderHistory;
}

/** One kind of workload, with queues of its own. Workloads are listed in `workloads/index.ts`. */
export interface TortureWorkload {
  /** Short, because it is part of every item name. */
  name: string;
  /** Whether all instances of a folder share the messages; default false: each has its own. */
  sharesMessages?: boolean;
  /** Whether messages are forwarded between instances. */
  forwards?: boolean;
  /** Creates missing queues; several processes may do so at the same time. */
  setUp(work: WorkloadContext): Promise<void>;
  /** Starts the sessions, which run until the process is killed. */
  start(work: WorkloadContext): void;
  /**
   * The contents of its queues on an instance, or on all instances if they share the messages, in delivery order.
   * Consumes nothing.
   */
  inspect(inspected: Inspected): Promise<Content[]>;
}

export function hasQueue(instance: Instance, name: string): boolean {
  return instance.queues().some((queue) => queue.name === name);
}

/** Identifies inspected messages. Payloads that name no message are recorded and left out. */
export function itemsOf(
  queue: string,
  messages: readonly Message[],
  history: FolderHistory,
): DeliveredMessage[] {
  return messages.flatMap(({ id, payload }) => {
    const message = readItem(payload);
    if (message !== undefined) return { message };
    history.recordUnreadable(queue, `${id}: ${payload.toString('latin1', 0, 60)}`);
    return [];
  });
}

/** Upper bound of the pause between two transactions of a session. */
const pauseMsMax = 4;

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
  recorder: Recorder;
  /** Prefix of its sessions' names, which are unique among all processes of the folder. */
  namePrefix: string;
  random: Random;
  /** Whether the host is another process, which may fail over during the workload. */
  isClient: boolean;
  role: Role;
  selfKill: SelfKill;
  onCommitted(): void;
}

export class WorkloadContext {
  readonly host: Host;
  readonly role: Role;
  readonly random: Random;
  readonly recorder: Recorder;
  readonly isClient: boolean;
  readonly #options: WorkloadContextOptions;
  #sessions = 0;

  constructor(options: WorkloadContextOptions) {
    this.#options = options;
    this.host = options.host;
    this.role = options.role;
    this.random = options.random;
    this.recorder = options.recorder;
    this.isClient = options.isClient;
  }

  /**
   * Creates a queue unless it exists; safe if several processes do so. Forwarding and a limit of attempts are off unless `spec` has
   * them.
   * `ordered`: whether first deliveries follow the commit order of a session.
   */
  async ensureQueue(spec: QueueSpec, { ordered }: { ordered: boolean }): Promise<void> {
    const { name, type, priorities = false, attemptsMax = null, forwarding = false } = spec;
    this.recorder.note({
      type: 'queue',
      queue: name,
      // A client cannot observe the order across a failover: deliveries may have been lost on their way to it.
      ordered: ordered && !this.isClient,
      forwarded: forwarding,
      priorities: priorities && !forwarding,
      topic: type === 'topic',
      ...(attemptsMax !== null && { exceptions: `${name}.exceptions` }),
    });
    try {
      const queues = await this.host.queues();
      if (!queues.some((queue) => queue.name === name))
        await this.host.createQueue({ forwarding: false, attemptsMax: null, ...spec });
    } catch (error) {
      if (!(error instanceof QueueError && error.code === 'QUEUE_EXISTS')) throw error;
    }
  }

  /**
   * Runs `turn` repeatedly until the process ends, with short pauses: a process has a dozen sessions, of which some are always
   * in a commit, and CPU that is left goes to the processes that recover. An unexpected error ends the process at once.
   */
  runSessionLoop(turn: (session: TortureSession, items: ItemSource) => Promise<void>): void {
    const { workloadName, namePrefix } = this.#options;
    const name = `${workloadName}:${namePrefix}-${this.#sessions}`;
    this.#sessions += 1;
    const loop = async () => {
      for (let opened = 0; ; opened += 1) {
        const session = this.#openSession(`${name}-${opened}`);
        const items = new ItemSource(`${name}-${opened}`);
        do {
          await this.#rollbackIfTransient(session, turn(session, items));
          await pause(this.random.below(pauseMsMax));
        } while (!this.random.chance(0.02));
        await session.close(); // returns held messages
      }
    };
    loop().catch((error: unknown) => {
      if (error instanceof QueueError && closingCodes.includes(error.code)) return;
      const text = `${workloadName}: ${(error as Error).stack ?? String(error)}`;
      writeMoment({ moment: 'failed', text });
      process.exit(1);
    });
  }

  #openSession(name: string): TortureSession {
    const { selfKill, recorder } = this.#options;
    return new RecordedSession<Message, NewMessage>(this.host.openSession(), {
      recorder,
      name,
      identify: ({ payload }) => {
        const message = readItem(payload);
        return message === undefined ? undefined : { message };
      },
      onSubmitted: () => selfKill.onSubmitted(),
      onAcknowledged: () => selfKill.onAcknowledged(),
    });
  }

  async #rollbackIfTransient(session: TortureSession, turn: Promise<void>): Promise<void> {
    try {
      await turn;
    } catch (error) {
      if (!this.isClient || !isTransient(error)) throw error;
      await session.rollback();
    }
  }

  enqueue(session: TortureSession, queue: string, item: Item, attributes: Partial<NewMessage> = {}): void {
    const { groupKey, priority } = attributes;
    const sessionName = item.slice(0, item.lastIndexOf('.'));
    const payload = itemPayload(item, this.random.below(400));
    session.enqueue(
      queue,
      { payload, ...attributes },
      {
        message: item,
        stream: groupKey === undefined ? sessionName : `${sessionName} ${groupKey}`,
        ...(priority !== undefined && { priority }),
      },
    );
  }

  /**
   * Dequeues ready messages, or, if there are none, those that arrive within a second. The shorter a call, the more its order
   * proves.
   */
  async dequeue(session: TortureSession, queue: string, options: { max: number; subscriber?: string }) {
    const ready = await session.dequeue(queue, options);
    return ready.length > 0 ? ready : session.dequeue(queue, { ...options, waitMs: 1_000 });
  }

  /**
   * Commits the session's transaction. Returns false if it was refused with one of the expected codes `refusedWith`.
   */
  async commit(session: TortureSession, refusedWith: readonly string[] = []): Promise<boolean> {
    try {
      await session.commit();
    } catch (error) {
      const code = error instanceof QueueError ? error.code : '';
      if (this.isClient && code === 'COMMIT_OUTCOME_UNKNOWN') return false; // the next inspection settles the outcome
      if (!refusedWith.includes(code) && !(this.isClient && isTransient(error))) throw error;
      await session.rollback();
      return false;
    }
    this.#options.onCommitted();
    return true;
  }

  /** Waits while the backlog is too large, so that inspections stay short. */
  async waitWhileBacklogAbove(queue: string, readyMax: number): Promise<void> {
    while ((await this.host.queue(queue)).ready > readyMax) await pause(this.isClient ? 5 : 1);
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
