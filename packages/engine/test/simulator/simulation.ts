/**
 * One run: the commands of sessions on one to three instances, faults and time, all drawn from a seed. A step is a command, a fault or
 * the next event, and the invariants are checked after each.
 */
import { QueueError } from '../../src/api/errors.ts';
import type { QueueRow } from '../../src/model/queue-row.ts';
import type { StoredMessage } from './known-message.ts';
import { Oracle } from './oracle.ts';
import { Chance, drainPromises, Scheduler } from './scheduler.ts';
import { Actor, SessionCalls } from './session-calls.ts';
import { SimulatedHistory } from './simulated-history.ts';
import { SimulatedInstance } from './simulated-instance.ts';
import { SimulatedNetwork } from './simulated-interconnect.ts';
import { news, newsSubscribers, simulatedQueues } from './simulated-queues.ts';
import { expectThat, SimulationFailure } from './simulation-failure.ts';

/** By how many bytes the message cache may exceed its bound, since a run is added as a whole. */
const cacheSlackBytes = 64 * 1024;
const timersMax = 2_000;
/** By how many groups the tables are behind, in turn over the seeds: the applier keeps up, falls behind by one, or by a hundred. */
const lags = [0, 1, 100] as const;
/** Number of steps between two comparisons with the tables. */
const auditEvery = 150;

export interface SimulationOptions {
  seed: number;
  /** The minimum number of steps. */
  steps: number;
  /** Whether the checker judges the history of the run; otherwise only the oracle does. */
  judgesHistory?: boolean;
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
  // A run lets the event loop make no turn, so the messages and time limits of the test runner get one before it.
  await new Promise((resolve) => setImmediate(resolve));
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
  readonly #history: SimulatedHistory;
  readonly #judgesHistory: boolean;
  readonly #instances: SimulatedInstance[] = [];
  #actors: Actor[] = [];
  readonly #onTrace: ((line: string) => void) | undefined;
  #traceHash = 0x811c9dc5;
  #lastActor = 0;
  #kills = 0;
  readonly #faultPercent: number;
  readonly #calls: SessionCalls;
  readonly #queues: readonly QueueRow[];

  constructor({ seed, steps, judgesHistory = true, onTrace }: SimulationOptions) {
    this.#steps = steps;
    this.#judgesHistory = judgesHistory;
    this.#chance = new Chance(seed);
    this.#onTrace = onTrace;
    this.#network = new SimulatedNetwork(this.#scheduler, this.#chance, (line) => this.#trace(line));
    const chance = this.#chance;
    this.#faultPercent = chance.pick([0, 1, 3]);
    const ids = [1, 2, 3].slice(0, chance.pick([1, 1, 2, 2, 2, 3, 3]));
    // In a third of the runs each attempt is counted before its message is handed over, elsewhere when it comes back.
    const attemptsCounted = seed % 3 === 0 ? 'on-delivery' : 'on-return';
    this.#oracle.limitsDeliveries = attemptsCounted === 'on-delivery';
    this.#queues = simulatedQueues.map((row) =>
      row.attemptsMax === null ? row : { ...row, attemptsCounted },
    );
    const cluster = { queues: [...this.#queues, news], subscribers: newsSubscribers, instances: ids.length };
    this.#history = new SimulatedHistory(this.#scheduler, cluster);
    this.#calls = new SessionCalls({
      chance,
      scheduler: this.#scheduler,
      oracle: this.#oracle,
      history: this.#history,
      trace: (line) => this.#trace(line),
      actors: () => this.#actors,
    });
    const subscribing = new Set(ids);
    const shape = {
      instances: ids,
      scheduler: this.#scheduler,
      chance,
      network: this.#network,
      queues: cluster.queues,
      subscribers: newsSubscribers,
      onSubscribed: (instance: number) => {
        if (subscribing.delete(instance) && subscribing.size === 0) this.#history.subscribed();
      },
      cacheBytesMax: chance.pick([300, 2_000, 1_000_000]),
      partitionMessagesMax: chance.between(2, 12),
      consumerIdleMs: chance.pick([5, 50, 500]),
      lag: lags[seed % lags.length]!,
    };
    for (const instance of ids) this.#instances.push(new SimulatedInstance({ ...shape, instance }));
  }

  async run(): Promise<SimulationResult> {
    for (const instance of this.#instances) this.#open(instance);
    await this.#finishStep();
    // Consuming the remaining messages takes steps as well.
    for (let target = Math.floor(this.#steps * 0.7); this.step < this.#steps; target = this.#steps) {
      while (this.step < target) {
        this.#act();
        await this.#finishStep();
      }
      await this.#settleAll();
    }
    if (this.#judgesHistory) this.#history.judge();
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
    this.#calls.report();
    this.#check();
  }

  #check(): void {
    expectThat(this.#scheduler.size < timersMax, () => `invariant 11: ${this.#scheduler.size} events`);
    const rotated = this.#queues[this.step % this.#queues.length]!;
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

  /** Only a simulated failure of storage may stop an instance. Any other reason is a bug. */
  #assertExpectedFailure(failed: QueueError): void {
    if (failed.code !== 'INVARIANT_BROKEN' && failed.cause instanceof QueueError) return;
    const { cause } = failed;
    throw new SimulationFailure(
      `the instance stopped: ${failed.message}, ${cause instanceof Error ? cause.stack : ''}`,
    );
  }

  #audit(): void {
    const ofQueues = ({ queueId }: StoredMessage) => queueId !== news.queueId;
    this.#oracle.audit(
      new Map(
        this.#instances.map(({ instance, file }) => [instance, [...file.tables.messages()].filter(ofQueues)]),
      ),
    );
    for (const { opening, file, instance } of this.#instances) {
      if (opening === undefined || opening.failed !== undefined || !opening.parts.groupCommit.isIdle)
        continue;
      const stored = new Map<number, number>();
      for (const { queueId, live } of file.tables.messages())
        if (live) stored.set(queueId, (stored.get(queueId) ?? 0) + 1);
      for (const queue of this.#queues) {
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
    this.#history.killed(instance.instance);
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
    const canCall = !actor.busy && actor.instance.opening?.failed === undefined;
    if (!canCall || !this.#calls.make(actor)) this.#advance();
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
    // Time moves to the end only when no event is due before, as promises settle between two events.
    if (this.#scheduler.runNext(untilMs)) this.#trace('event');
    else {
      this.#scheduler.moveTo(untilMs);
      this.#trace(`advance ${ms}`);
    }
  }

  #fault(): void {
    const chance = this.#chance;
    const instance = chance.pick(this.#instances);
    const kind = chance.below(11);
    if (kind === 10 && instance.opening !== undefined) {
      const ms = chance.pick([2, 20, 200]);
      instance.lapseLease(ms);
      this.#trace(`the lease of ${instance.instance} lapses for ${ms}`);
    } else if (kind < 3) {
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

  /** Ends all faults and dequeues everything, since all committed messages must be delivered in the end. */
  async #settleAll(): Promise<void> {
    this.#trace('settle');
    const consumers = new Map<SimulatedInstance, Actor>();
    let isEmpty = false;
    for (let round = 0; round < 40; round += 1) {
      for (const instance of this.#instances) {
        instance.faults.next = undefined;
        if (instance.opening?.failed !== undefined) this.#kill(instance);
        if (instance.opening === undefined) this.#open(instance);
        instance.renewLease();
        if (consumers.get(instance)?.opening === instance.opening) continue;
        this.#lastActor += 1;
        consumers.set(instance, new Actor(instance, instance.openSession(), `s${this.#lastActor}`));
      }
      for (const actor of this.#actors)
        if (!actor.busy && actor.transaction !== undefined) this.#calls.rollback(actor);
      await this.#runFor(300);
      const isDone = this.#oracle.unconsumed().next().done === true && !this.#hasNews();
      const deliveredBefore = this.#calls.delivered;
      for (const consumer of consumers.values()) await this.#consumeAll(consumer);
      isEmpty = isDone && this.#calls.delivered === deliveredBefore;
      if (isEmpty) break;
    }
    this.#audit();
    const left = [...this.#oracle.unconsumed()];
    expectThat(
      left.length === 0,
      () => `${left.length} messages are stuck, among them ${left[0]!.payload} of ${left[0]!.queue.name}`,
    );
    expectThat(isEmpty, () => 'messages of the topic are stuck, or of no queue');
    this.#history.foundEmpty();
  }

  /** Whether a subscriber still has messages, or an instance has not opened the topic yet. */
  #hasNews(): boolean {
    return this.#instances.some(({ opening }) => {
      if (opening?.hasSubscribers !== true) return true;
      const { statistics, topics } = opening.parts.engine;
      const { delayed } = statistics.counts(news);
      return delayed > 0 || topics.subscribers(news).some(({ backlog }) => backlog > 0);
    });
  }

  async #consumeAll(consumer: Actor): Promise<void> {
    const hasFailed = () => consumer.opening.failed !== undefined;
    const { hasSubscribers } = consumer.opening;
    const ofTopic = newsSubscribers.map(({ name }) => ({ queue: news, subscriber: { subscriber: name } }));
    for (const { queue, subscriber } of [
      ...this.#queues.map((each) => ({ queue: each, subscriber: {} })),
      ...(hasSubscribers ? ofTopic : []),
    ]) {
      if (consumer.busy || hasFailed()) continue;
      this.#calls.dequeueFrom(consumer, queue, { max: 1_000, waitMs: 0, ...subscriber });
      await this.#finishStep();
      for (let i = 0; i < 200 && consumer.busy; i += 1) {
        this.#scheduler.runNext();
        await this.#finishStep();
      }
    }
    if (!consumer.busy && !hasFailed()) this.#calls.commit(consumer);
    await this.#finishStep();
  }

  async #runFor(ms: number): Promise<void> {
    const untilMs = this.#scheduler.nowMs + ms;
    while (this.#scheduler.runNext(untilMs)) await this.#finishStep();
    this.#scheduler.moveTo(untilMs);
  }
}
