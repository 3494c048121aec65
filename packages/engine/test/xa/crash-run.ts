/**
 * One distributed transaction over simulated instances, with a crash at one of its events and a second one at an event of the recovery.
 * The transaction consumes a message, enqueues one and changes a row on each of two instances, or ships what it enqueues on the second
 * one to the first. Afterwards all of it has happened or nothing, and no row is locked.
 */
import { QueueError } from '../../src/api/errors.ts';
import type { Session } from '../../src/api/session.ts';
import { Coordinator } from '../../src/xa/coordinator/coordinator.ts';
import type { Decisions } from '../../src/xa/coordinator/decisions.ts';
import type { DistributedTransaction } from '../../src/xa/coordinator/distributed-transaction.ts';
import { addToBalance } from '../simulator/memory-statements.ts';
import { Chance, drainPromises, Scheduler } from '../simulator/scheduler.ts';
import { SimulatedInstance } from '../simulator/simulated-instance.ts';
import { SimulatedNetwork } from '../simulator/simulated-interconnect.ts';
import { simulatedQueues } from '../simulator/simulated-queues.ts';
import { expectThat } from '../simulator/simulation-failure.ts';
import { type Application, Node, type PlantedBug, resourceOf } from './crash-node.ts';

/** The roles of instances in the transaction. */
export type Role = 'coordinator' | 'first' | 'second';

export interface CrashRunOptions {
  bug?: PlantedBug;
  seed: number;
  /** The roles of the instances that crash. */
  roles: readonly Role[];
  /** The crash comes before the event of this number since the transaction began, and not at all if there are fewer. */
  crashAt: number;
  /** The number of the event of the recovery before which the second crash comes. */
  crashAgainAt?: number;
  /** Whether the coordinator stores its decisions in the file of the first participant. */
  shared?: boolean;
  /** Whether the branches are tightly coupled, with the instance of the first one as home instance. */
  tight?: boolean;
  /** Whether each branch is prepared and committed by calls to the instance of the other one, which passes them on. */
  passedOn?: boolean;
  /** Whether the second branch only enqueues, so that it can ship its work. */
  shippable?: boolean;
  /** Whether the second branch also changes a row in the tables of the first instance, as in one folder. */
  shipsRows?: boolean;
}

export interface CrashRunResult {
  /** The point that the transaction had reached at the crash: see `pointOf`. */
  point: string;
  committed: boolean;
  /** Numbers of events of the transaction and of the recovery. */
  events: number;
  recoveryEvents: number;
}

/** Longer than the time limit of an unprepared branch. */
const expiredMs = 130_000;
/** Longer than the time after which a coordinator gives up a call. */
const settledMs = 25_000;

export class CrashRun {
  readonly #options: CrashRunOptions;
  readonly #scheduler = new Scheduler();
  readonly #chance: Chance;
  readonly #network: SimulatedNetwork;
  readonly #nodes: Record<Role, Node>;
  #progress = 'before the start';
  #told: 'committed' | 'rolled back' | 'unknown' | undefined;
  #transaction: DistributedTransaction | undefined;
  readonly #sessions: Session[] = [];
  readonly #application: Application = { isAlive: true };

  constructor(options: CrashRunOptions) {
    this.#options = options;
    this.#chance = new Chance(options.seed);
    this.#network = new SimulatedNetwork(this.#scheduler, this.#chance, () => undefined);
    const first = this.#newNode(1);
    const second = this.#newNode(2);
    this.#nodes = { first, second, coordinator: options.shared === true ? first : this.#newNode(3) };
  }

  #newNode(instance: number): Node {
    const chance = this.#chance;
    const simulated = new SimulatedInstance({
      instance,
      instances: [instance], // With one instance nothing is forwarded.
      scheduler: this.#scheduler,
      chance,
      network: this.#network,
      queues: simulatedQueues,
      cacheBytesMax: 1_000_000,
      partitionMessagesMax: 4,
      consumerIdleMs: 500,
      ...(this.#options.shipsRows === true && { sqlInstance: 1 }),
    });
    const arrival = () =>
      new Promise<void>((resolve) => void this.#scheduler.after(chance.below(12), resolve));
    const node = new Node(simulated, {
      hangs: () => chance.percent(50),
      onTheWay: this.#options.tight === true ? arrival : async () => undefined,
      bug: this.#options.bug,
    });
    node.open();
    return node;
  }

  async run(): Promise<CrashRunResult> {
    const { first, second } = this.#nodes;
    await this.#finish(put(first, 'in 1', 'more 1'));
    await this.#finish(put(second, 'in 2'));
    for (const node of [first, second]) await this.#finish(addTo(node, 100));

    let point = 'after the end';
    void this.#transact();
    const events = await this.#runEvents(
      this.#options.crashAt,
      () => this.#isOver,
      () => {
        point = this.#pointOf();
        this.#crash();
      },
    );

    void Promise.allSettled(this.#sessions.map((session) => session.close())); // The connections of the crashed application end.
    const { coordinator } = this.#nodes;
    this.#application.isAlive = false;
    const recovery = this.#newCoordinator(coordinator);
    let isResolved = false;
    const resolve = (by: Coordinator) =>
      void by.resolve().then(
        () => {
          isResolved = true;
        },
        () => undefined,
      );
    resolve(recovery);
    const recoveryEvents = await this.#runEvents(
      this.#options.crashAgainAt ?? Number.POSITIVE_INFINITY,
      () => isResolved,
      () => this.#crash(),
    );
    await this.#advance(expiredMs); // Branches that were never prepared expire.
    await this.#finish(this.#newCoordinator(coordinator).resolve());
    return { point, committed: await this.#verify(), events, recoveryEvents };
  }

  #newCoordinator({ opening: { parts, ports } }: Node, application = { isAlive: true }): Coordinator {
    const { first, second } = this.#nodes;
    const { passedOn = false } = this.#options;
    const participants = new Map([
      ['first', resourceOf(first, application, passedOn ? second : first)],
      ['second', resourceOf(second, application, passedOn ? first : second)],
    ]);
    const { epoch, decisions } = parts;
    const instance = this.#options.shared === true ? 1 : 3;
    return new Coordinator({ instance, epoch, decisions: this.#plantedIn(decisions), participants, ports });
  }

  #plantedIn(decisions: Decisions): Decisions {
    const { bug } = this.#options;
    if (bug === 'the decision is not written') decisions.decide = async () => undefined;
    if (bug === 'recovery presumes a commit' && this.#transaction !== undefined) decisions.has = () => true;
    return decisions;
  }

  async #transact(): Promise<void> {
    const { first, second, coordinator } = this.#nodes;
    const { ports } = coordinator.opening;
    // The application runs in the process of the coordinator and ends with it.
    const roundTrip = () => new Promise<void>((resolve) => void ports.after(1, resolve));
    const coupling = this.#options.tight === true ? 'tight' : 'loose';
    const application = this.#application;
    this.#transaction = this.#newCoordinator(coordinator, application).begin({ coupling });
    const [one, two] = [first.openSession(application), second.openSession(application)];
    this.#sessions.push(one, two);
    try {
      await this.#transaction.enlist('first', one);
      this.#progress = 'after one start';
      await roundTrip();
      await this.#transaction.enlist('second', two);
      this.#progress = 'after both starts';
      await roundTrip();
      for (const [session, name] of [
        [one, 'out 1'],
        [two, 'out 2'],
      ] as const) {
        if (session === one || this.#options.shippable !== true) {
          const [message] = await session.dequeue('orders');
          expectThat(message !== undefined, () => 'there is no message to consume');
          session.execute(addToBalance, [session === one ? -10 : 10, 1]);
        } else if (this.#options.shipsRows === true) session.execute(addToBalance, [3, 1]);
        session.enqueue('alerts', { payload: name });
        this.#progress = `after the work of ${name}`;
        await roundTrip();
      }
      this.#progress = 'ended';
      await this.#transaction.commit();
      this.#told = 'committed';
    } catch (error) {
      this.#told = isUnknown(error) ? 'unknown' : 'rolled back';
      // The application gives up. Its rollback is refused if it comes too late.
      await this.#transaction.rollback().catch(() => undefined);
    }
  }

  get #isOver(): boolean {
    return this.#told !== undefined;
  }

  /** Runs events until `isOver`, and calls `at` before the event of number `atEvent`. Returns the number of events. */
  async #runEvents(atEvent: number, isOver: () => boolean, at: () => void): Promise<number> {
    const untilMs = this.#scheduler.nowMs + settledMs;
    let events = 0;
    await drainPromises();
    for (; !isOver(); events += 1) {
      if (events === atEvent) {
        at();
        await drainPromises();
      }
      if (!this.#scheduler.runNext(untilMs)) break; // The transaction never ends if its coordinator has crashed.
      await drainPromises();
    }
    return events;
  }

  #crash(): void {
    const nodes = new Set(this.#options.roles.map((role) => this.#nodes[role]));
    if (nodes.has(this.#nodes.coordinator)) this.#application.isAlive = false;
    for (const node of nodes) node.crash();
  }

  async #advance(ms: number): Promise<void> {
    const untilMs = this.#scheduler.nowMs + ms;
    await drainPromises();
    while (this.#scheduler.runNext(untilMs)) await drainPromises();
    this.#scheduler.moveTo(untilMs);
  }

  async #finish<T>(call: Promise<T>): Promise<T> {
    let done = false;
    const result = call.finally(() => {
      done = true;
    });
    await drainPromises();
    while (!done && this.#scheduler.runNext()) await drainPromises();
    return result;
  }

  /** The point that the transaction has reached, from the written and the synced content of the files. */
  #pointOf(): string {
    if (this.#progress !== 'ended') return this.#progress;
    if (this.#options.shippable === true) return this.#pointOfShipped();
    const { first, second, coordinator } = this.#nodes;
    const rows = (synced: boolean) =>
      [first, second].filter(
        ({ simulated: { file } }) => (synced ? file.syncedTables : file.tables).preparedBranches.size > 0,
      ).length;
    const isDecided = (synced: boolean) => {
      const { file } = coordinator.simulated;
      return (synced ? file.syncedTables : file.tables).decisions.size > 0;
    };
    if (isDecided(true) || this.#wasDecided) {
      this.#wasDecided = true;
      if (!isDecided(false)) return 'after the forget';
      if (rows(true) === 2) return rows(false) === 2 ? 'after the decision' : 'before the sync of a commit';
      return rows(true) === 1 ? 'between the commits' : 'before the forget';
    }
    if (isDecided(false)) return 'before the sync of the decision';
    if (rows(true) === 2) return 'before the decision';
    if (rows(true) === 1) return 'between the prepares';
    return rows(false) > 0 ? 'before the sync of a prepare' : 'before the prepares';
  }

  #wasDecided = false;

  /** The same if one branch has the work of both. */
  #pointOfShipped(): string {
    const { file, opening } = this.#nodes.first.simulated;
    const isWritten = file.tables.preparedBranches.size > 0;
    if (file.syncedTables.preparedBranches.size > 0) {
      this.#wasDecided = true;
      return isWritten ? 'after the prepare with the shipped work' : 'before the sync of the commit';
    }
    if (isWritten) return 'before the sync of the prepare';
    if (this.#wasDecided) return 'after the commit';
    if (opening!.parts.homeInstances.shipped.size === 0) return 'before the shipping';
    const { branches } = this.#nodes.second.opening.parts;
    return branches.size > 0 ? 'after the shipping' : 'after the read-only answer, before the prepare';
  }

  /** Returns whether the transaction was committed. Throws a `SimulationFailure` if the instances do not agree. */
  async #verify(): Promise<boolean> {
    const left = [await this.#takeAll(this.#nodes.first), await this.#takeAll(this.#nodes.second)];
    const seen = JSON.stringify(left);
    const outcome =
      this.#options.shippable === true
        ? [
            ['more 1', 'out 1', 'out 2', this.#options.shipsRows === true ? '93' : '90'],
            ['in 2', '100'],
          ]
        : [
            ['more 1', 'out 1', '90'],
            ['out 2', '110'],
          ];
    const committed = seen === JSON.stringify(outcome);
    const rolledBack =
      seen ===
      JSON.stringify([
        ['in 1', 'more 1', '100'],
        ['in 2', '100'],
      ]);
    expectThat(committed || rolledBack, () => `the instances do not agree: ${seen}`);
    expectThat(
      this.#told === undefined || this.#told === 'unknown' || (this.#told === 'committed') === committed,
      () => `the application was told that it is ${this.#told}, and left is ${seen}`,
    );
    for (const {
      simulated: { file, instance },
      opening: { parts },
    } of Object.values(this.#nodes)) {
      expectThat(
        parts.homeInstances.shipped.size === 0,
        () => `shipped work is left on instance ${instance}`,
      );
      expectThat(parts.branches.size === 0, () => `a branch is left on instance ${instance}`);
      const { preparedBranches, decisions } = file.tables;
      expectThat(preparedBranches.size === 0, () => `a branch is in doubt on instance ${instance}`);
      expectThat(decisions.size === 0, () => `a decision is left on instance ${instance}`);
    }
    return committed;
  }

  async #takeAll(node: Node): Promise<string[]> {
    const session = node.simulated.openSession();
    const payloads: string[] = [];
    for (const queue of ['orders', 'alerts']) {
      for (;;) {
        const messages = await this.#finish(session.dequeue(queue, { max: 100 }));
        if (messages.length === 0) break;
        payloads.push(...messages.map(({ payload }) => payload.toString()));
      }
    }
    await this.#finish(session.commit());
    await this.#finish(addTo(node, 0)); // This waits for ever if a row is locked.
    return [...payloads.sort(), String(node.simulated.file.tables.balances.get(1))];
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof QueueError && error.code === 'COMMIT_OUTCOME_UNKNOWN';
}

async function put(node: Node, ...payloads: string[]): Promise<void> {
  const session = node.simulated.openSession();
  for (const payload of payloads) session.enqueue('orders', { payload });
  await session.commit();
}

async function addTo(node: Node, amount: number): Promise<void> {
  const session = node.simulated.openSession();
  session.execute(addToBalance, [amount, 1]);
  await session.commit();
}
