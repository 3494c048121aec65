/**
 * A run as its sessions saw it, for the checker that also judges real processes (`packages/history`). The oracle compares each
 * step with what it knows. The checker looks at the whole run, and finds what the oracle does not know: the order of messages
 * that are delivered again, priorities, and topics.
 *
 * Relaxed queues are left out: a power cut may undo what others have seen of them, which no history allows.
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
/** Operations of one millisecond are a nanosecond apart, so a hold may seem to begin that much later than it does. */
const holdSlackMs = 0.001;

/** What an open transaction has enqueued and consumed. */
export interface RecordedWork {
  enqueues: EnqueuedMessage[];
  consumes: DeliveryPart[];
}

export interface RecordedCluster {
  queues: readonly QueueRow[];
  /** Of each topic. */
  subscribers: readonly SubscriberRow[];
  instances: number;
}

/** Who makes a call. */
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
  /** Calls that are under way. */
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
        ordered: attemptsMax === null, // a retry delay lets later messages pass
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

  /** All instances keep messages for the subscribers from now on. */
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

  /** Of something that took no time. */
  #note(operation: Unfinished<Operation>): void {
    this.#add<Operation>(operation, 'simulation', 0, 'ok');
  }

  #begin<T extends ClientOperation>({ instance: { instance } }: RecordedCaller, operation: Unfinished<T>): T {
    const begun = this.#add<T>(operation, processOf(instance), Number.POSITIVE_INFINITY, 'unknown');
    this.#open.add(begun);
    return begun;
  }

  /** A call was answered. Those of an instance that was killed meanwhile have ended with it. */
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

  /** Returns what names each of the messages in the operations that follow. */
  endDelivery(delivery: Delivery | undefined, messages: readonly string[]): (DeliveryPart | undefined)[] {
    if (delivery === undefined) return messages.map(() => undefined);
    delivery.messages = messages.map((message) => ({ message }));
    this.end(delivery, 'ok');
    const { id, queue, subscriber } = delivery;
    return messages.map((message) => ({ delivery: id, queue, message, subscriber }));
  }

  /** A commit, or a rollback whose outcome is `fail`. */
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

  /** The calls of its sessions are never answered; what they did is decided by then. */
  killed(instance: number): void {
    const process = processOf(instance);
    this.#note({ type: 'kill', of: [process] });
    for (const operation of this.#open) if (operation.process === process) this.end(operation, 'unknown');
    for (const message of this.#delayed) delete message.notBefore;
    this.#delayed = [];
  }

  /** A drain of all queues has just found nothing. */
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
