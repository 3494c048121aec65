/**
 * The calls that the sessions of a run make, drawn from its seed, and their reports to the oracle. A session has one call under way at a
 * time.
 */
import type { Operation, Outcome } from '@shardlab/history';
import { QueueError } from '../../src/api/errors.ts';
import type { Message, NewMessage } from '../../src/api/message.ts';
import type { QueueRow } from '../../src/model/queue-row.ts';
import type { InstanceSession } from '../../src/runtime/instance-session.ts';
import type { Hold, KnownTransaction, SeenDelivery } from './known-message.ts';
import type { Oracle } from './oracle.ts';
import type { Chance, Scheduler } from './scheduler.ts';
import { newWork, type RecordedWork, type SimulatedHistory } from './simulated-history.ts';
import type { Opening, SimulatedInstance } from './simulated-instance.ts';
import { alerts, events, failures, jobs, news, newsSubscribers, orders } from './simulated-queues.ts';
import { expectThat } from './simulation-failure.ts';

/** Queues to which sessions enqueue. One that is listed more often is drawn more often. */
const enqueueQueues = [orders, orders, orders, events, jobs, alerts, news];
const dequeueQueues = [orders, orders, orders, orders, events, jobs, jobs, failures, alerts, news, news];
const receiveQueues = dequeueQueues.filter((queue) => queue !== news);
/** Queues whose first deliveries are in commit order. */
const orderedQueues = new Set([orders, events]);

/** A session, and what its program knows. */
export class Actor {
  readonly instance: SimulatedInstance;
  readonly session: InstanceSession;
  readonly opening: Opening;
  readonly name: string;
  busy = false;
  /** Whether its instance was killed. */
  gone = false;
  transaction: KnownTransaction | undefined;
  /** The open transaction as recorded for the history. */
  work: RecordedWork = newWork();
  /** Timed holds of messages that it received, including ended ones. */
  holds: Hold[] = [];

  constructor(instance: SimulatedInstance, session: InstanceSession, name: string) {
    this.instance = instance;
    this.opening = instance.opening!;
    this.session = session;
    this.name = name;
  }
}

interface Surroundings {
  chance: Chance;
  scheduler: Scheduler;
  oracle: Oracle;
  history: SimulatedHistory;
  trace(line: string): void;
  /** The sessions of open instances. */
  actors(): readonly Actor[];
}

export class SessionCalls {
  readonly #chance: Chance;
  readonly #scheduler: Scheduler;
  readonly #oracle: Oracle;
  readonly #history: SimulatedHistory;
  readonly #trace: (line: string) => void;
  readonly #actors: () => readonly Actor[];
  #lastPayload = 0;
  /** Number of messages that were delivered to sessions. */
  delivered = 0;
  /** Results of calls since the last report. Commits are reported to the oracle before deliveries. */
  #settled: (() => void)[] = [];
  #deliveries: { seen: SeenDelivery[]; onHolds(holds: Hold[]): void }[] = [];

  constructor({ chance, scheduler, oracle, history, trace, actors }: Surroundings) {
    this.#chance = chance;
    this.#scheduler = scheduler;
    this.#oracle = oracle;
    this.#history = history;
    this.#trace = trace;
    this.#actors = actors;
  }

  /** Reports the results of calls since the last report to the oracle. */
  report(): void {
    const settled = this.#settled;
    this.#settled = [];
    for (const report of settled) report();
    const deliveries = this.#deliveries;
    if (deliveries.length === 0) return;
    this.#deliveries = [];
    const holds = this.#oracle.delivered(
      deliveries.flatMap(({ seen }) => seen),
      this.#scheduler.nowMs,
    );
    let start = 0;
    for (const { seen, onHolds } of deliveries) {
      onHolds(holds.slice(start, start + seen.length));
      start += seen.length;
    }
  }

  /** Makes a random call; returns false if the session has no transaction or hold for it. */
  make(actor: Actor): boolean {
    const roll = this.#chance.below(100);
    if (roll < 30) this.#enqueue(actor);
    else if (roll < 45) this.#dequeue(actor);
    else if (roll < 55) this.#receive(actor);
    else if (roll < 84) return this.commit(actor);
    else if (roll < 88) this.rollback(actor);
    else if (roll < 94) return this.#acknowledge(actor);
    else if (roll < 97) return this.#release(actor);
    else return this.#extend(actor);
    return true;
  }

  /** Runs a call of a session. Its result is ignored if the instance was killed meanwhile. */
  #call<T>(
    actor: Actor,
    call: Promise<T>,
    onDone: (result: T) => void,
    onError: (error: unknown) => void,
  ): void {
    actor.busy = true;
    const settle = (report: () => void) => {
      if (actor.gone) return;
      this.#settled.push(() => {
        actor.busy = false;
        report();
      });
    };
    call.then(
      (result) => settle(() => onDone(result)),
      (error) => settle(() => onError(error)),
    );
  }

  #transactionOf(actor: Actor): KnownTransaction {
    actor.transaction ??= this.#oracle.begin(actor.instance.instance);
    return actor.transaction;
  }

  #enqueue(actor: Actor): void {
    const chance = this.#chance;
    const queue = this.#pickFor(actor, enqueueQueues);
    const count = chance.between(1, 4);
    for (let i = 0; i < count; i += 1) {
      this.#lastPayload += 1;
      const payload = String(this.#lastPayload);
      const message: NewMessage = { payload };
      if (queue.priorities) message.priority = chance.below(3);
      if (chance.percent(8)) message.delayMs = chance.pick([5, 100, 2_000]);
      if (queue === news && chance.percent(25)) message.recipients = [chance.pick(newsSubscribers).name];
      actor.session.enqueue(queue.name, message);
      const { priority, recipients, delayMs = 0 } = message;
      this.#oracle.enqueue(this.#transactionOf(actor), queue, {
        payload,
        dueAtMs: this.#scheduler.nowMs + delayMs,
        sequence: orderedQueues.has(queue) && delayMs === 0 ? actor.name : undefined,
      });
      const stream = delayMs === 0 ? actor.name : undefined;
      this.#history.enqueue(actor.work, queue, { message: payload, stream, priority, recipients, delayMs });
    }
    this.#trace(`${actor.name} enqueue ${queue.name} ${count}`);
  }

  /** A topic is not used before all instances know its subscribers. */
  #pickFor({ opening }: Actor, queues: readonly QueueRow[]): QueueRow {
    const queue = this.#chance.pick(queues);
    return queue === news && !opening.hasSubscribers ? orders : queue;
  }

  #waitMs(): number {
    return this.#chance.percent(60) ? 0 : this.#chance.pick([5, 50, 500]);
  }

  #dequeue(actor: Actor): void {
    const queue = this.#pickFor(actor, dequeueQueues);
    const options = { max: this.#chance.between(1, 6), waitMs: this.#waitMs() };
    this.#trace(`${actor.name} dequeue ${queue.name} ${options.max} ${options.waitMs}`);
    if (queue !== news) this.dequeueFrom(actor, queue, options);
    else this.dequeueFrom(actor, queue, { ...options, subscriber: this.#chance.pick(newsSubscribers).name });
  }

  dequeueFrom(
    actor: Actor,
    queue: QueueRow,
    options: { max: number; waitMs: number; subscriber?: string },
  ): void {
    const transaction = this.#transactionOf(actor);
    const { work } = actor;
    const delivery = this.#history.beginDelivery(actor, queue, options);
    this.#call(
      actor,
      actor.session.dequeue(queue.name, options),
      (messages) => {
        const parts = this.#history.endDelivery(delivery, payloadsOf(messages));
        for (const part of parts) if (part !== undefined) work.consumes.push(part);
        this.#seen(actor, { queue, messages, parts, transaction }, () => {});
      },
      (error) => {
        this.#history.end(delivery, 'unknown');
        this.#assertTypical(error);
      },
    );
  }

  #receive(actor: Actor): void {
    const queue = this.#chance.pick(receiveQueues);
    const holdMs = this.#chance.pick([10, 50, 500]);
    const options = { max: this.#chance.between(1, 4), waitMs: this.#waitMs(), holdMs };
    this.#trace(`${actor.name} receive ${queue.name} ${options.max} ${options.waitMs} ${holdMs}`);
    const delivery = this.#history.beginDelivery(actor, queue, options);
    this.#call(
      actor,
      actor.session.receive(queue.name, options),
      (messages) => {
        const parts = this.#history.endDelivery(delivery, payloadsOf(messages));
        this.#seen(actor, { queue, messages, parts, holdMs }, (holds) => actor.holds.push(...holds));
      },
      (error) => {
        this.#history.end(delivery, 'unknown');
        this.#assertTypical(error);
      },
    );
  }

  #seen(
    { name, instance: { instance }, opening: { lease } }: Actor,
    {
      queue,
      messages,
      parts,
      transaction,
      holdMs,
    }: Pick<SeenDelivery, 'queue'> & {
      messages: Message[];
      parts: SeenDelivery['part'][];
      transaction?: KnownTransaction;
      holdMs?: number;
    },
    onHolds: (holds: Hold[]) => void,
  ): void {
    const expiresAtMs = holdMs === undefined ? undefined : this.#scheduler.nowMs + holdMs;
    this.delivered += messages.length;
    this.#trace(`${name} gets ${messages.map(({ receipt, payload }) => `${payload}@${receipt}`).join(' ')}`);
    // If attempts are limited, messages that were taken before the lapse are delivered after the commit that counts the attempt.
    expectThat(
      messages.length === 0 || !lease.lapsed || queue.attemptsMax !== null,
      () => `${name} gets messages of ${queue.name}, and the lease has lapsed`,
    );
    if (queue.type === 'topic') return;
    const seen = messages.map((message, index) => {
      return { instance, queue, message, transaction, expiresAtMs, part: parts[index] };
    });
    this.#deliveries.push({ seen, onHolds });
  }

  /** Returns false if the session has no transaction. */
  commit(actor: Actor): boolean {
    const { transaction } = actor;
    if (transaction === undefined) return false;
    this.#oracle.commitBegins(transaction, this.#scheduler.nowMs);
    const recorded = this.#endTransaction(actor);
    this.#trace(`${actor.name} commit`);
    this.#call(
      actor,
      actor.session.commit(),
      ({ ids }) => {
        this.#trace(`${actor.name} committed ${ids.join(' ')}`);
        this.#oracle.committed(transaction, ids);
        this.#history.end(recorded, 'ok');
      },
      (error) => {
        const { code } = error as QueueError;
        this.#history.end(recorded, outcomeOf(error));
        this.#trace(`${actor.name} commit failed: ${code}`);
        if (code === 'RECEIPT_STALE') {
          const mayBeStale = transaction.acknowledged.some((hold) => this.#mayBeStale(hold));
          expectThat(
            mayBeStale || transaction.contested.length > 0,
            () => 'invariant 7: the receipt of a hold was refused',
          );
        } else this.#assertTypical(error);
        if (code === 'INSTANCE_FAILED') this.#oracle.unknown(transaction);
        else this.#oracle.refused(transaction);
      },
    );
    return true;
  }

  #mayBeStale({ ended, releasing, expiresAtMs }: Hold): boolean {
    return ended || releasing || (expiresAtMs !== undefined && this.#scheduler.nowMs >= expiresAtMs);
  }

  /** Ends the actor's transaction, so that its next call begins another one. Returns the recorded operation. */
  #endTransaction(actor: Actor): Operation | undefined {
    const recorded = this.#history.beginTransaction(actor, actor.work);
    actor.transaction = undefined;
    actor.work = newWork();
    return recorded;
  }

  rollback(actor: Actor): void {
    const { transaction } = actor;
    const recorded = this.#endTransaction(actor);
    this.#trace(`${actor.name} rollback`);
    if (transaction !== undefined) this.#oracle.refused(transaction);
    this.#call(
      actor,
      actor.session.rollback(),
      () => this.#history.end(recorded, 'fail'),
      (error) => {
        this.#history.end(recorded, 'fail');
        this.#assertTypical(error);
      },
    );
  }

  /** Picks a hold. Sometimes it has ended, so that its receipt must be refused. */
  #pickHold(actor: Actor): Hold | undefined {
    const others = this.#chance.percent(30) ? this.#chance.pick(this.#actors()) : actor;
    if (others.instance !== actor.instance || others.holds.length === 0) return undefined;
    const recent = others.holds.slice(-6);
    const live = recent.filter(({ ended }) => !ended);
    return this.#chance.pick(live.length > 0 && this.#chance.percent(85) ? live : recent);
  }

  #acknowledge(actor: Actor): boolean {
    const hold = this.#pickHold(actor);
    if (hold === undefined) return false;
    const transaction = this.#transactionOf(actor);
    if (transaction.acknowledged.includes(hold) || hold.committing) return false;
    this.#trace(`${actor.name} acknowledge ${hold.receipt}`);
    actor.session.acknowledge(hold.message.queue.name, [hold.receipt]);
    transaction.acknowledged.push(hold);
    if (hold.part !== undefined) actor.work.consumes.push(hold.part);
    return true;
  }

  #release(actor: Actor): boolean {
    const hold = this.#pickHold(actor);
    if (hold === undefined || hold.committing) return false;
    this.#trace(`${actor.name} release ${hold.receipt}`);
    const wasEnded = hold.ended;
    const mayBeStale = this.#mayBeStale(hold);
    hold.releasing = true; // at once, whenever the call resolves
    const recorded = this.#history.beginRelease(actor, hold.part);
    this.#call(
      actor,
      actor.session.release(hold.message.queue.name, [hold.receipt]),
      () => {
        this.#history.end(recorded, 'ok');
        expectThat(!wasEnded, () => 'invariant 7: a stale receipt released a hold');
        this.#oracle.released(hold);
      },
      (error) => {
        this.#history.end(recorded, outcomeOf(error));
        if ((error as QueueError).code !== 'RECEIPT_STALE') this.#assertTypical(error);
        else expectThat(mayBeStale, () => 'invariant 7: the receipt of a hold was refused');
      },
    );
    return true;
  }

  #extend(actor: Actor): boolean {
    const hold = this.#pickHold(actor);
    if (hold === undefined || hold.committing) return false;
    const ms = this.#chance.pick([10, 100]);
    this.#trace(`${actor.name} extend ${hold.receipt} ${ms}`);
    const wasEnded = hold.ended;
    const mayBeStale = this.#mayBeStale(hold);
    const expiresAtMs = this.#scheduler.nowMs + ms;
    const recorded = this.#history.beginExtension(actor, hold.part, ms);
    this.#call(
      actor,
      actor.session.extend(hold.message.queue.name, [hold.receipt], ms),
      () => {
        this.#history.end(recorded, 'ok');
        expectThat(!wasEnded, () => 'invariant 7: a stale receipt extended a hold');
        hold.expiresAtMs = expiresAtMs;
      },
      (error) => {
        this.#history.end(recorded, outcomeOf(error));
        if ((error as QueueError).code !== 'RECEIPT_STALE') this.#assertTypical(error);
        else expectThat(mayBeStale, () => 'invariant 7: the receipt of a hold was refused');
      },
    );
    return true;
  }

  /** Errors that a caller may get in a run. */
  #assertTypical(error: unknown): void {
    const code = error instanceof QueueError ? error.code : undefined;
    if (code !== undefined && typicalCodes.includes(code)) return;
    throw error;
  }
}

const typicalCodes: readonly string[] = ['STORAGE_FULL', 'STORAGE_FAILED', 'INSTANCE_FAILED', 'LEASE_LAPSED'];

const payloadsOf = (messages: readonly Message[]): string[] =>
  messages.map(({ payload }) => payload.toString());

/** The outcome of a failed call, which is unknown if its instance failed. */
function outcomeOf(error: unknown): Outcome {
  return (error as QueueError).code === 'INSTANCE_FAILED' ? 'unknown' : 'fail';
}
