/**
 * One run: sessions of one or two instances, faults and time, all drawn from a seed, with the invariants checked after each
 * step. A step is a command of a session, a fault, or the next event.
 */
import { QueueError } from '../../src/api/errors.ts';
import type { Message, NewMessage } from '../../src/api/message.ts';
import type { QueueRow } from '../../src/model/queue-row.ts';
import type { InstanceSession } from '../../src/runtime/instance-session.ts';
import { type Hold, type KnownTransaction, Oracle, type SeenDelivery } from './oracle.ts';
import { Chance, drainPromises, Scheduler } from './scheduler.ts';
import { type Opening, SimulatedInstance } from './simulated-instance.ts';
import { SimulatedNetwork } from './simulated-interconnect.ts';
import { alerts, events, failures, jobs, orders, simulatedQueues as queues } from './simulated-queues.ts';
import { expectThat, SimulationFailure } from './simulation-failure.ts';

/** Bytes that the message cache may exceed its bound by: a run is added as a whole. */
const cacheSlackBytes = 64 * 1024;
const timersMax = 2_000;
/** Steps between two comparisons with the tables. */
const auditEvery = 150;

/** Those that sessions enqueue to, the more often the more often they are listed. */
const enqueueQueues = [orders, orders, orders, events, jobs, alerts];
const dequeueQueues = [orders, orders, orders, orders, events, jobs, jobs, failures, alerts];
/** Messages that are delivered a first time in the order of their commits. */
const orderedQueues = new Set([orders, events]);

class Actor {
  readonly instance: SimulatedInstance;
  readonly session: InstanceSession;
  readonly opening: Opening;
  readonly name: string;
  busy = false;
  /** Its instance was killed. */
  gone = false;
  transaction: KnownTransaction | undefined;
  /** Messages that it received under timed holds, those that ended included. */
  holds: Hold[] = [];

  constructor(instance: SimulatedInstance, session: InstanceSession, name: string) {
    this.instance = instance;
    this.opening = instance.opening!;
    this.session = session;
    this.name = name;
  }
}

export interface SimulationOptions {
  seed: number;
  /** At least so many. */
  steps: number;
  /** Called with each line of the trace. */
  onTrace?: ((line: string) => void) | undefined;
}

export interface SimulationResult {
  steps: number;
  traceHash: number;
  consumed: number;
  redelivered: number;
  kills: number;
}

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const simulation = new Simulation(options);
  try {
    return await simulation.run();
  } catch (error) {
    const { seed, steps } = options;
    const command = `node packages/engine/test/simulator/run.ts --seed ${seed} --steps ${steps}`;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SimulationFailure(
      `seed ${seed}, step ${simulation.step}: ${reason}\nRepeat it with: ${command}`,
      {
        cause: error,
      },
    );
  }
}

class Simulation {
  step = 0;
  readonly #steps: number;
  readonly #chance: Chance;
  readonly #scheduler = new Scheduler();
  readonly #network: SimulatedNetwork;
  readonly #oracle = new Oracle();
  readonly #instances: SimulatedInstance[] = [];
  #actors: Actor[] = [];
  readonly #onTrace: ((line: string) => void) | undefined;
  #traceHash = 0x811c9dc5;
  #lastPayload = 0;
  #lastActor = 0;
  #kills = 0;
  readonly #faultPercent: number;
  /** What calls came to since the last check; commits are told to the oracle before deliveries. */
  #settled: (() => void)[] = [];
  #deliveries: { seen: SeenDelivery[]; onHolds(holds: Hold[]): void }[] = [];

  constructor({ seed, steps, onTrace }: SimulationOptions) {
    this.#steps = steps;
    this.#chance = new Chance(seed);
    this.#onTrace = onTrace;
    this.#network = new SimulatedNetwork(this.#scheduler, this.#chance, (line) => this.#trace(line));
    const chance = this.#chance;
    this.#faultPercent = chance.pick([0, 1, 3]);
    const ids = chance.percent(30) ? [1] : [1, 2];
    const shape = {
      instances: ids,
      scheduler: this.#scheduler,
      chance,
      network: this.#network,
      queues,
      cacheBytesMax: chance.pick([300, 2_000, 1_000_000]),
      partitionMessagesMax: chance.between(2, 12),
      consumerIdleMs: chance.pick([5, 50, 500]),
      changesWriter: seed % 2 === 0,
    };
    for (const instance of ids) this.#instances.push(new SimulatedInstance({ ...shape, instance }));
  }

  async run(): Promise<SimulationResult> {
    for (const instance of this.#instances) this.#open(instance);
    await this.#finishStep();
    // Consuming what is left takes steps as well.
    for (let target = Math.floor(this.#steps * 0.7); this.step < this.#steps; target = this.#steps) {
      while (this.step < target) {
        this.#act();
        await this.#finishStep();
      }
      await this.#settleAll();
    }
    const { consumed, redelivered } = this.#oracle;
    const { step: steps } = this;
    return { steps, traceHash: this.#traceHash >>> 0, consumed, redelivered, kills: this.#kills };
  }

  #trace(line: string): void {
    for (let i = 0; i < line.length; i += 1)
      this.#traceHash = Math.imul(this.#traceHash ^ line.charCodeAt(i), 0x01000193);
    this.#onTrace?.(
      `${String(this.step).padStart(5)} ${String(this.#scheduler.nowMs).padStart(7)} ms  ${line}`,
    );
  }

  async #finishStep(): Promise<void> {
    this.step += 1;
    await drainPromises();
    this.#report();
    this.#check();
  }

  #report(): void {
    const settled = this.#settled;
    this.#settled = [];
    for (const tell of settled) tell();
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

  #check(): void {
    expectThat(this.#scheduler.size < timersMax, () => `invariant 11: ${this.#scheduler.size} events`);
    const rotated = queues[this.step % queues.length]!;
    for (const { opening, instance } of this.#instances) {
      if (opening === undefined) continue;
      const { parts, failed } = opening;
      if (failed !== undefined) {
        this.#assertExpectedFailure(failed);
        continue;
      }
      const { bytes, bytesMax } = parts.cache;
      expectThat(
        bytes >= 0 && bytes <= bytesMax + cacheSlackBytes,
        () => `invariant 11: ${bytes} bytes are cached`,
      );
      const counts = parts.engine.statistics.counts(rotated);
      const { enqueued, forwardedIn, ready, held, delayed, consumed, forwardedOut } = counts;
      expectThat(
        ready >= 0 &&
          held >= 0 &&
          enqueued + forwardedIn === ready + held + delayed + consumed + forwardedOut,
        () => `invariant 12: counts of ${rotated.name} in instance ${instance}: ${JSON.stringify(counts)}`,
      );
    }
    if (this.step % auditEvery === 0) this.#audit();
  }

  /** Storage may fail as simulated; everything else that stops an instance is a bug. */
  #assertExpectedFailure(failed: QueueError): void {
    if (failed.code !== 'INVARIANT_BROKEN' && failed.cause instanceof QueueError) return;
    const { cause } = failed;
    throw new SimulationFailure(
      `the instance stopped: ${failed.message}, ${cause instanceof Error ? cause.stack : ''}`,
    );
  }

  #audit(): void {
    this.#oracle.audit(
      new Map(this.#instances.map(({ instance, file }) => [instance, file.tables.messages()])),
    );
    for (const { opening, file, instance } of this.#instances) {
      if (opening === undefined || opening.failed !== undefined || !opening.parts.groupCommit.isIdle)
        continue;
      const stored = new Map<number, number>();
      for (const { queueId, live } of file.tables.messages())
        if (live) stored.set(queueId, (stored.get(queueId) ?? 0) + 1);
      for (const queue of queues) {
        const { ready, held, delayed } = opening.parts.engine.statistics.counts(queue);
        const counted = ready + held + delayed;
        const inTables = stored.get(queue.queueId) ?? 0;
        expectThat(
          counted === inTables,
          () =>
            `invariant 12: ${queue.name} in instance ${instance} has ${inTables} messages and counts ${counted}`,
        );
      }
    }
  }

  #open(instance: SimulatedInstance): void {
    instance.open();
    for (let i = 0; i < 3; i += 1) {
      this.#lastActor += 1;
      this.#actors.push(new Actor(instance, instance.openSession(), `s${this.#lastActor}`));
    }
    this.#trace(`open ${instance.instance}`);
  }

  #kill(instance: SimulatedInstance): void {
    this.#kills += 1;
    const { kept, lost } = instance.kill();
    for (const actor of this.#actors) {
      if (actor.instance !== instance) continue;
      actor.gone = true;
      if (actor.transaction !== undefined) this.#oracle.abandoned(actor.transaction);
    }
    this.#actors = this.#actors.filter(({ gone }) => !gone);
    const { tables } = instance.file;
    this.#oracle.killed(instance.instance, tables.messages(), tables.truncatedPayloads);
    this.#trace(`kill ${instance.instance}: ${kept} groups kept, ${lost} lost`);
    this.#audit();
  }

  #act(): void {
    const chance = this.#chance;
    if (chance.percent(this.#faultPercent)) {
      this.#fault();
      return;
    }
    for (const instance of this.#instances) {
      if (instance.opening?.failed !== undefined && chance.percent(10)) {
        this.#kill(instance);
        return;
      }
      if (instance.opening === undefined && chance.percent(10)) {
        this.#open(instance);
        return;
      }
    }
    if (chance.percent(45) || this.#actors.length === 0) {
      this.#advance();
      return;
    }
    const actor = chance.pick(this.#actors);
    if (actor.busy || actor.instance.opening?.failed !== undefined) this.#advance();
    else this.#command(actor);
  }

  #advance(): void {
    const chance = this.#chance;
    const { nowMs, nextAtMs = Number.POSITIVE_INFINITY } = this.#scheduler;
    if (nextAtMs < nowMs + 1_000 && chance.percent(97)) {
      this.#scheduler.runNext();
      this.#trace('event');
      return;
    }
    const ms = chance.pick([1, 10, 100]);
    const untilMs = this.#scheduler.nowMs + ms;
    // Promises settle between two events, so time moves over all of them only once none is due.
    if (this.#scheduler.runNext(untilMs)) this.#trace('event');
    else {
      this.#scheduler.moveTo(untilMs);
      this.#trace(`advance ${ms}`);
    }
  }

  #fault(): void {
    const chance = this.#chance;
    const instance = chance.pick(this.#instances);
    const kind = chance.below(10);
    if (kind < 3) {
      const next = chance.percent(75) ? 'diskFull' : 'syncFailed';
      instance.faults.next = next;
      this.#trace(`fault ${instance.instance} ${next}`);
    } else if (kind < 7) {
      const ms = chance.pick([0, 10, 200]);
      this.#network.cutAll(ms);
      this.#trace(`cut ${ms}`);
    } else if (kind === 7) {
      const ms = chance.pick([-3_600_000, -5_000, 5_000, 3_600_000]);
      this.#scheduler.setWallClock(ms);
      this.#trace(`set the wall clock by ${ms}`);
    } else if (instance.opening !== undefined) {
      this.#kill(instance);
      if (chance.percent(50)) this.#open(instance);
    }
  }

  #command(actor: Actor): void {
    const roll = this.#chance.below(100);
    if (roll < 30) this.#enqueue(actor);
    else if (roll < 45) this.#dequeue(actor);
    else if (roll < 55) this.#receive(actor);
    else if (roll < 84) this.#commit(actor);
    else if (roll < 88) this.#rollback(actor);
    else if (roll < 94) this.#acknowledge(actor);
    else if (roll < 97) this.#release(actor);
    else this.#extend(actor);
  }

  /** Runs a call of a session. A call of an instance that was killed meanwhile comes to nothing. */
  #call<T>(
    actor: Actor,
    call: Promise<T>,
    onDone: (result: T) => void,
    onError: (error: unknown) => void,
  ): void {
    actor.busy = true;
    const settle = (tell: () => void) => {
      if (actor.gone) return;
      this.#settled.push(() => {
        actor.busy = false;
        tell();
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
    const queue = chance.pick(enqueueQueues);
    const count = chance.between(1, 4);
    for (let i = 0; i < count; i += 1) {
      this.#lastPayload += 1;
      const payload = String(this.#lastPayload);
      const message: NewMessage = { payload };
      if (queue.priorities) message.priority = chance.below(3);
      if (chance.percent(8)) message.delayMs = chance.pick([5, 100, 2_000]);
      actor.session.enqueue(queue.name, message);
      const ordered = orderedQueues.has(queue) && message.delayMs === undefined;
      this.#oracle.enqueue(this.#transactionOf(actor), queue, {
        payload,
        dueAtMs: this.#scheduler.nowMs + (message.delayMs ?? 0),
        sequence: ordered ? actor.name : undefined,
      });
    }
    this.#trace(`${actor.name} enqueue ${queue.name} ${count}`);
  }

  #waitMs(): number {
    return this.#chance.percent(60) ? 0 : this.#chance.pick([5, 50, 500]);
  }

  #dequeue(actor: Actor): void {
    const queue = this.#chance.pick(dequeueQueues);
    const options = { max: this.#chance.between(1, 6), waitMs: this.#waitMs() };
    this.#trace(`${actor.name} dequeue ${queue.name} ${options.max} ${options.waitMs}`);
    const transaction = this.#transactionOf(actor);
    this.#call(
      actor,
      actor.session.dequeue(queue.name, options),
      (messages) => this.#seen(actor, { queue, messages, transaction }, () => {}),
      (error) => this.#assertTypical(error),
    );
  }

  #receive(actor: Actor): void {
    const queue = this.#chance.pick(dequeueQueues);
    const holdMs = this.#chance.pick([10, 50, 500]);
    const options = { max: this.#chance.between(1, 4), waitMs: this.#waitMs(), holdMs };
    this.#trace(`${actor.name} receive ${queue.name} ${options.max} ${options.waitMs} ${holdMs}`);
    this.#call(
      actor,
      actor.session.receive(queue.name, options),
      (messages) => this.#seen(actor, { queue, messages, holdMs }, (holds) => actor.holds.push(...holds)),
      (error) => this.#assertTypical(error),
    );
  }

  #seen(
    { name, instance: { instance } }: Actor,
    {
      queue,
      messages,
      transaction,
      holdMs,
    }: { queue: QueueRow; messages: Message[]; transaction?: KnownTransaction; holdMs?: number },
    onHolds: (holds: Hold[]) => void,
  ): void {
    const expiresAtMs = holdMs === undefined ? undefined : this.#scheduler.nowMs + holdMs;
    const seen = messages.map((message) => ({ instance, queue, message, transaction, expiresAtMs }));
    this.#trace(`${name} gets ${messages.map(({ receipt, payload }) => `${payload}@${receipt}`).join(' ')}`);
    this.#deliveries.push({ seen, onHolds });
  }

  #commit(actor: Actor): void {
    const { transaction } = actor;
    if (transaction === undefined) {
      this.#advance();
      return;
    }
    actor.transaction = undefined;
    this.#oracle.commitBegins(transaction);
    this.#trace(`${actor.name} commit`);
    this.#call(
      actor,
      actor.session.commit(),
      ({ ids }) => {
        this.#trace(`${actor.name} committed ${ids.join(' ')}`);
        this.#oracle.committed(transaction, ids);
      },
      (error) => {
        const { code } = error as QueueError;
        this.#trace(`${actor.name} commit failed: ${code}`);
        if (code === 'RECEIPT_STALE') {
          const mayBeStale = transaction.acknowledged.some((hold) => this.#mayBeStale(hold));
          expectThat(
            mayBeStale || transaction.hasRival,
            () => 'invariant 7: the receipt of a hold was refused',
          );
        } else this.#assertTypical(error);
        if (code === 'INSTANCE_FAILED') this.#oracle.unknown(transaction);
        else this.#oracle.refused(transaction);
      },
    );
  }

  #mayBeStale({ ended, expiresAtMs }: Hold): boolean {
    return ended || (expiresAtMs !== undefined && this.#scheduler.nowMs >= expiresAtMs);
  }

  #rollback(actor: Actor): void {
    const { transaction } = actor;
    actor.transaction = undefined;
    this.#trace(`${actor.name} rollback`);
    if (transaction !== undefined) this.#oracle.refused(transaction);
    this.#call(
      actor,
      actor.session.rollback(),
      () => {},
      (error) => this.#assertTypical(error),
    );
  }

  /** Receipts of holds that ended are used as well: they must be refused. */
  #pickHold(actor: Actor): Hold | undefined {
    const others = this.#chance.percent(30) ? this.#chance.pick(this.#actors) : actor;
    if (others.instance !== actor.instance || others.holds.length === 0) return undefined;
    const recent = others.holds.slice(-6);
    const live = recent.filter(({ ended }) => !ended);
    return this.#chance.pick(live.length > 0 && this.#chance.percent(85) ? live : recent);
  }

  #acknowledge(actor: Actor): void {
    const hold = this.#pickHold(actor);
    if (hold === undefined) {
      this.#advance();
      return;
    }
    const transaction = this.#transactionOf(actor);
    if (transaction.acknowledged.includes(hold) || hold.committing) {
      this.#advance();
      return;
    }
    this.#trace(`${actor.name} acknowledge ${hold.receipt}`);
    actor.session.acknowledge(hold.message.queue.name, [hold.receipt]);
    transaction.acknowledged.push(hold);
  }

  #release(actor: Actor): void {
    const hold = this.#pickHold(actor);
    if (hold === undefined || hold.committing) {
      this.#advance();
      return;
    }
    this.#trace(`${actor.name} release ${hold.receipt}`);
    const wasEnded = hold.ended;
    const mayBeStale = this.#mayBeStale(hold);
    this.#call(
      actor,
      actor.session.release(hold.message.queue.name, [hold.receipt]),
      () => {
        expectThat(!wasEnded, () => 'invariant 7: a stale receipt released a hold');
        this.#oracle.endHold(hold);
      },
      (error) => {
        if ((error as QueueError).code !== 'RECEIPT_STALE') this.#assertTypical(error);
        else expectThat(mayBeStale, () => 'invariant 7: the receipt of a hold was refused');
      },
    );
  }

  #extend(actor: Actor): void {
    const hold = this.#pickHold(actor);
    if (hold === undefined || hold.committing) {
      this.#advance();
      return;
    }
    const ms = this.#chance.pick([10, 100]);
    this.#trace(`${actor.name} extend ${hold.receipt} ${ms}`);
    const wasEnded = hold.ended;
    const mayBeStale = this.#mayBeStale(hold);
    const expiresAtMs = this.#scheduler.nowMs + ms;
    this.#call(
      actor,
      actor.session.extend(hold.message.queue.name, [hold.receipt], ms),
      () => {
        expectThat(!wasEnded, () => 'invariant 7: a stale receipt extended a hold');
        hold.expiresAtMs = expiresAtMs;
      },
      (error) => {
        if ((error as QueueError).code !== 'RECEIPT_STALE') this.#assertTypical(error);
        else expectThat(mayBeStale, () => 'invariant 7: the receipt of a hold was refused');
      },
    );
  }

  /** Errors that a caller may get in a run. */
  #assertTypical(error: unknown): void {
    const code = error instanceof QueueError ? error.code : undefined;
    if (code === 'STORAGE_FULL' || code === 'STORAGE_FAILED' || code === 'INSTANCE_FAILED') return;
    throw error;
  }

  /** Ends all faults and dequeues everything: what was committed is delivered in the end. */
  async #settleAll(): Promise<void> {
    this.#trace('settle');
    const consumers = new Map<SimulatedInstance, Actor>();
    for (let round = 0; round < 40; round += 1) {
      for (const instance of this.#instances) {
        instance.faults.next = undefined;
        if (instance.opening?.failed !== undefined) this.#kill(instance);
        if (instance.opening === undefined) this.#open(instance);
        if (consumers.get(instance)?.opening === instance.opening) continue;
        this.#lastActor += 1;
        consumers.set(instance, new Actor(instance, instance.openSession(), `s${this.#lastActor}`));
      }
      for (const actor of this.#actors)
        if (!actor.busy && actor.transaction !== undefined) this.#rollback(actor);
      await this.#runFor(300);
      if (this.#oracle.unconsumed().next().done === true) break;
      for (const consumer of consumers.values()) await this.#consumeAll(consumer);
    }
    this.#audit();
    const left = [...this.#oracle.unconsumed()];
    expectThat(
      left.length === 0,
      () => `${left.length} messages are stuck, among them ${left[0]!.payload} of ${left[0]!.queue.name}`,
    );
  }

  async #consumeAll(consumer: Actor): Promise<void> {
    const hasFailed = () => consumer.opening.failed !== undefined;
    for (const queue of queues) {
      if (consumer.busy || hasFailed()) continue;
      const transaction = this.#transactionOf(consumer);
      this.#call(
        consumer,
        consumer.session.dequeue(queue.name, { max: 1_000, waitMs: 0 }),
        (messages) => this.#seen(consumer, { queue, messages, transaction }, () => {}),
        (error) => this.#assertTypical(error),
      );
      await this.#finishStep();
      for (let i = 0; i < 200 && consumer.busy; i += 1) {
        this.#scheduler.runNext();
        await this.#finishStep();
      }
    }
    if (!consumer.busy && !hasFailed()) this.#commit(consumer);
    await this.#finishStep();
  }

  async #runFor(ms: number): Promise<void> {
    const untilMs = this.#scheduler.nowMs + ms;
    while (this.#scheduler.runNext(untilMs)) await this.#finishStep();
    this.#scheduler.moveTo(untilMs);
  }
}
