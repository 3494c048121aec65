/**
 * A run as its sessions saw it, for the checker that also judges real processes (`packages/history`). While the oracle checks each step
 * with what it knows, the checker judges the whole run. It finds what the oracle cannot: errors in the order of redeliveries, in
 * priorities and in topics.
 *
 * Relaxed queues are left out, since a power cut may undo commits whose effects others have seen, which no history allows.
 */
import {
  checkHistory,
  type Delivery,
  type DeliveryPart,
  describeVerdict,
  type EnqueuedMessage,
  type Operation,
  type Outcome,
} from '@shardlab/history';
import type { QueueRow } from '../../src/model/queue-row.ts';
import type { SubscriberRow } from '../../src/model/subscriber-row.ts';
import type { Scheduler } from './scheduler.ts';
import { expectThat } from './simulation-failure.ts';

const nsPerMs = 1_000_000;
/** Operations in the same millisecond are recorded nanoseconds apart, so a hold may seem to begin that much too late. */
const holdSlackMs = 0.001;

/** The enqueues and consumptions of an open transaction. */
export interface RecordedWork {
  enqueues: EnqueuedMessage[];
  consumes: DeliveryPart[];
}

export interface RecordedCluster {
  queues: readonly QueueRow[];
  /** The subscribers of each topic. */
  subscribers: readonly SubscriberRow[];
  instances: number;
}

/** The session that makes a call. */
export interface RecordedCaller {
  name: string;
  instance: { instance: number };
}

type Unfinished<T> = T extends Operation ? Omit<T, 'id' | 'process' | 'start' | 'end' | 'outcome'> : never;
type ClientOperation = Extract<Operation, { type: 'transaction' | 'delivery' | 'release' | 'extend' }>;

export const newWork = (): RecordedWork => ({ enqueues: [], consumes: [] });
const processOf = (instance: number) => `instance ${instance}`;
const isRecorded = ({ durability }: QueueRow) => durability === 'durable';

export class SimulatedHistory {
  readonly #scheduler: Scheduler;
  readonly #queues: readonly QueueRow[];
  readonly #operations: Operation[] = [];
  /** Operations of calls that are under way. */
  readonly #open = new Set<Operation>();
  /** Delayed messages, which after a kill are due by the wall clock. */
  #delayed: EnqueuedMessage[] = [];
  readonly #subscriptions: { subscriber: string; operation: Operation }[] = [];
  #lastNs = 0;

  constructor(scheduler: Scheduler, { queues, subscribers, instances }: RecordedCluster) {
    this.#scheduler = scheduler;
    this.#queues = queues.filter(isRecorded);
    const nameById = new Map(queues.map(({ queueId, name }) => [queueId, name]));
    for (const row of this.#queues) {
      const { name, type, priorities, attemptsMax, exceptionQueueId, forwarding } = row;
      const forwarded = forwarding && instances > 1;
      this.#note({
        type: 'queue',
        queue: name,
        topic: type === 'topic',
        ordered: attemptsMax === null, // A retry delay lets later messages overtake.
        forwarded,
        priorities: priorities && !forwarded,
        exceptions: nameById.get(exceptionQueueId ?? 0),
      });
      if (type !== 'topic') continue;
      for (const { name: subscriber } of subscribers) {
        const operation = this.#add(
          { type: 'subscribe', queue: name, subscriber },
          'simulation',
          0,
          'unknown',
        );
        this.#subscriptions.push({ subscriber, operation });
      }
    }
  }

  /** Records that all instances keep messages for the subscribers from now on. */
  subscribed(): void {
    for (const { operation } of this.#subscriptions) {
      operation.end = this.#now();
      operation.outcome = 'ok';
    }
  }

  #now(): number {
    this.#lastNs = Math.max(this.#lastNs + 1, this.#scheduler.nowMs * nsPerMs);
    return this.#lastNs;
  }

  #add<T extends Operation>(operation: Unfinished<T>, process: string, end: number, outcome: Outcome): T {
    const start = this.#now();
    const id = `${this.#operations.length + 1}`;
    const added = { id, process, start, end: Math.max(start, end), outcome, ...operation } as unknown as T;
    this.#operations.push(added);
    return added;
  }

  /** Records an operation that takes no time. */
  #note(operation: Unfinished<Operation>): void {
    this.#add<Operation>(operation, 'simulation', 0, 'ok');
  }

  #begin<T extends ClientOperation>({ instance: { instance } }: RecordedCaller, operation: Unfinished<T>): T {
    const begun = this.#add<T>(operation, processOf(instance), Number.POSITIVE_INFINITY, 'unknown');
    this.#open.add(begun);
    return begun;
  }

  /** Records the answer to a call. Calls of a killed instance have already been ended. */
  end(operation: Operation | undefined, outcome: Outcome): void {
    if (operation === undefined || !this.#open.delete(operation)) return;
    operation.end = this.#now();
    operation.outcome = outcome;
  }

  enqueue(
    { enqueues }: RecordedWork,
    { name, durability }: QueueRow,
    message: Omit<EnqueuedMessage, 'queue' | 'notBefore'> & { delayMs: number },
  ): void {
    if (durability !== 'durable') return;
    const { delayMs, ...rest } = message;
    const enqueued: EnqueuedMessage = { queue: name, ...rest };
    if (delayMs > 0) {
      enqueued.notBefore = (this.#scheduler.nowMs + delayMs) * nsPerMs;
      this.#delayed.push(enqueued);
    }
    enqueues.push(enqueued);
  }

  /** `holdMs` is undefined for messages that are held until the end of the transaction. */
  beginDelivery(
    caller: RecordedCaller,
    queue: QueueRow,
    { max, holdMs, subscriber }: { max: number; holdMs?: number; subscriber?: string | undefined },
  ): Delivery | undefined {
    if (!isRecorded(queue)) return undefined;
    return this.#begin<Delivery>(caller, {
      type: 'delivery',
      queue: queue.name,
      subscriber,
      max,
      messages: [],
      ...(holdMs !== undefined && { holdMs: holdMs - holdSlackMs }),
    });
  }

  /** Returns the names of the messages for later operations. */
  endDelivery(delivery: Delivery | undefined, messages: readonly string[]): (DeliveryPart | undefined)[] {
    if (delivery === undefined) return messages.map(() => undefined);
    delivery.messages = messages.map((message) => ({ message }));
    this.end(delivery, 'ok');
    const { id, queue, subscriber } = delivery;
    return messages.map((message) => ({ delivery: id, queue, message, subscriber }));
  }

  /** Records a commit, or a rollback, which has the outcome `fail`. */
  beginTransaction(caller: RecordedCaller, { enqueues, consumes }: RecordedWork): Operation | undefined {
    if (enqueues.length + consumes.length === 0) return undefined;
    return this.#begin(caller, { type: 'transaction', session: caller.name, enqueues, consumes });
  }

  beginRelease(caller: RecordedCaller, part: DeliveryPart | undefined): Operation | undefined {
    return part && this.#begin(caller, { type: 'release', deliveries: [part] });
  }

  beginExtension(
    caller: RecordedCaller,
    part: DeliveryPart | undefined,
    holdMs: number,
  ): Operation | undefined {
    return part && this.#begin(caller, { type: 'extend', deliveries: [part], holdMs: holdMs - holdSlackMs });
  }

  /** Records that an instance was killed: the calls of its sessions are not answered, and their effects are decided by now. */
  killed(instance: number): void {
    const process = processOf(instance);
    this.#note({ type: 'kill', of: [process] });
    for (const operation of this.#open) if (operation.process === process) this.end(operation, 'unknown');
    for (const message of this.#delayed) delete message.notBefore;
    this.#delayed = [];
  }

  /** Records that all queues were drained and are empty. */
  foundEmpty(): void {
    const commits = [...this.#open].filter(({ type }) => type === 'transaction').length;
    expectThat(commits === 0, () => `${commits} commits are under way, and nothing is`);
    const contents = this.#queues.flatMap(({ name: queue, type }) =>
      type === 'topic'
        ? this.#subscriptions.map(({ subscriber }) => ({ queue, subscriber, messages: [] }))
        : [{ queue, messages: [] }],
    );
    this.#note({ type: 'inspection', contents });
  }

  judge(): void {
    const verdict = checkHistory(this.#operations);
    const [first] = verdict.violations;
    expectThat(
      first === undefined,
      () => `the history is illegal: ${first!.kind}: ${first!.sentence}\n${describeVerdict(verdict)}`,
    );
  }
}
