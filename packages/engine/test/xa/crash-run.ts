/**
 * One distributed transaction over simulated instances, with a crash at one event of it and a second one at an event of the
 * recovery. The transaction consumes a message, enqueues one and changes a row on each of two instances; afterwards either all of
 * that has happened or nothing, and no row is locked.
 */
import { QueueError } from '../../src/api/errors.ts';
import type { Session } from '../../src/api/session.ts';
import type { XaResource, Xid } from '../../src/api/xa.ts';
import { Coordinator } from '../../src/xa/coordinator/coordinator.ts';
import type { Decisions } from '../../src/xa/coordinator/decisions.ts';
import type { DistributedTransaction } from '../../src/xa/coordinator/distributed-transaction.ts';
import { addToBalance } from '../simulator/memory-statements.ts';
import { Chance, drainPromises, Scheduler } from '../simulator/scheduler.ts';
import { type Opening, SimulatedInstance } from '../simulator/simulated-instance.ts';
import { SimulatedNetwork } from '../simulator/simulated-interconnect.ts';
import { simulatedQueues } from '../simulator/simulated-queues.ts';
import { expectThat } from '../simulator/simulation-failure.ts';

/** The instances, by what they are in the transaction. */
export type Role = 'coordinator' | 'first' | 'second';

/** To see that the checks find what they should. */
export type PlantedBug =
  | 'the decision is not written'
  | 'a branch says that it is prepared before it is on disk'
  | 'a branch commits before the decision'
  | 'recovery presumes a commit'
  | 'a commit leaves out the rows'
  | 'a prepared branch is forgotten with its instance';

export interface CrashRunOptions {
  bug?: PlantedBug;
  seed: number;
  /** Whose instances crash. */
  roles: readonly Role[];
  /** Before the event of this number since the transaction began; past the last one there is no crash. */
  crashAt: number;
  /** The same since the recovery began. */
  crashAgainAt?: number;
  /** The coordinator's decisions are stored with the first participant. */
  shared?: boolean;
}

export interface CrashRunResult {
  /** Where the transaction was when it crashed: see `pointOf`. */
  point: string;
  committed: boolean;
  /** Events of the transaction, and of the recovery. */
  events: number;
  recoveryEvents: number;
}

/** More than the time that a branch has until it is prepared. */
const expiredMs = 130_000;
/** More than the time after which a coordinator gives a call up. */
const settledMs = 25_000;

/** One instance, and the sessions and calls of those that reach it from outside. */
class Node {
  readonly simulated: SimulatedInstance;
  #onKilled: ((error: QueueError) => void)[] = [];
  readonly #hangs: () => boolean;
  readonly #bug: PlantedBug | undefined;

  /** `hangs`: whether a call that is under way at a crash is never answered, instead of failing with the connection. */
  constructor(simulated: SimulatedInstance, hangs: () => boolean, bug: PlantedBug | undefined) {
    this.simulated = simulated;
    this.#hangs = hangs;
    this.#bug = bug;
  }

  get opening(): Opening {
    return this.simulated.opening!;
  }

  crash(): void {
    this.simulated.kill();
    if (this.#bug === 'a prepared branch is forgotten with its instance')
      this.simulated.file.tables.preparedBranches.clear();
    const error = new QueueError('XAER_RMFAIL');
    for (const reject of this.#onKilled.splice(0)) reject(error);
    this.simulated.open();
  }

  /** A call that ends with the opening that it was made in. */
  reach<T>(call: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.#hangs()) this.#onKilled.push(reject);
      call.then(resolve, reject);
    });
  }

  get resource(): XaResource {
    const branches = () => this.opening.parts.branches;
    return {
      prepare: (xid) => this.#prepare(xid),
      commit: (xid, options) => this.#commit(xid, options),
      rollback: (xid) => this.reach(branches().rollback(xid)),
      recover: () => this.reach(branches().recover()),
      forget: (xid) => this.reach(branches().forget(xid)),
    };
  }

  #commit(xid: Xid, options?: { onePhase?: boolean }): Promise<void> {
    if (this.#bug === 'a commit leaves out the rows') {
      const { preparedBranches } = this.simulated.file.tables;
      for (const [key, row] of preparedBranches) preparedBranches.set(key, { ...row, rows: '[]' });
    }
    return this.reach(this.opening.parts.branches.commit(xid, options));
  }

  #prepare(xid: Xid): Promise<'ok' | 'read-only'> {
    const { branches } = this.opening.parts;
    const preparing = this.reach(branches.prepare(xid));
    if (this.#bug === 'a branch says that it is prepared before it is on disk') {
      preparing.catch(() => undefined);
      return Promise.resolve('ok');
    }
    if (this.#bug === 'a branch commits before the decision') {
      return preparing.then(async (vote) => {
        await this.reach(branches.commit(xid));
        return vote;
      });
    }
    return preparing;
  }

  openSession(): Session {
    const { opening } = this;
    const session = this.simulated.openSession();
    const gone = () => Promise.reject(new QueueError('XAER_RMFAIL'));
    const call = <T>(make: () => Promise<T>): Promise<T> =>
      this.simulated.opening === opening ? this.reach(make()) : gone();
    const { xa } = session;
    return new Proxy<Session>(session, {
      get: (target, property) => {
        if (property === 'dequeue') return (queue: string) => call(() => session.dequeue(queue));
        if (property === 'xa') {
          return {
            ...this.resource,
            start: (xid: Xid) => call(() => xa.start(xid)),
            end: (xid: Xid, how: 'success' | 'fail') => call(() => xa.end(xid, how)),
          };
        }
        const value = Reflect.get(target, property, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}

export class CrashRun {
  readonly #options: CrashRunOptions;
  readonly #scheduler = new Scheduler();
  readonly #chance: Chance;
  readonly #nodes: Record<Role, Node>;
  #progress = 'before the start';
  #told: 'committed' | 'rolled back' | 'unknown' | undefined;
  #transaction: DistributedTransaction | undefined;
  readonly #sessions: Session[] = [];

  constructor(options: CrashRunOptions) {
    this.#options = options;
    this.#chance = new Chance(options.seed);
    const first = this.#newNode(1);
    const second = this.#newNode(2);
    this.#nodes = { first, second, coordinator: options.shared === true ? first : this.#newNode(3) };
  }

  #newNode(instance: number): Node {
    const chance = this.#chance;
    const simulated = new SimulatedInstance({
      instance,
      instances: [instance], // nothing is forwarded
      scheduler: this.#scheduler,
      chance,
      network: new SimulatedNetwork(this.#scheduler, chance, () => undefined),
      queues: simulatedQueues,
      cacheBytesMax: 1_000_000,
      partitionMessagesMax: 4,
      consumerIdleMs: 500,
    });
    simulated.open();
    return new Node(simulated, () => chance.percent(50), this.#options.bug);
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

    void Promise.allSettled(this.#sessions.map((session) => session.close())); // the connections of whoever has crashed
    const { coordinator } = this.#nodes;
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
    await this.#advance(expiredMs); // branches that were never prepared
    await this.#finish(this.#newCoordinator(coordinator).resolve());
    return { point, committed: await this.#verify(), events, recoveryEvents };
  }

  #newCoordinator({ opening: { parts, ports } }: Node): Coordinator {
    const { first, second } = this.#nodes;
    const participants = new Map([
      ['first', first.resource],
      ['second', second.resource],
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
    // The application runs in the coordinator's process, and ends with it.
    const roundTrip = () => new Promise<void>((resolve) => void ports.after(1, resolve));
    this.#transaction = this.#newCoordinator(coordinator).begin();
    const [one, two] = [first.openSession(), second.openSession()];
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
        const [message] = await session.dequeue('orders');
        expectThat(message !== undefined, () => 'there is no message to consume');
        session.enqueue('alerts', { payload: name });
        session.execute(addToBalance, [session === one ? -10 : 10, 1]);
        this.#progress = `after the work of ${name}`;
        await roundTrip();
      }
      this.#progress = 'ended';
      await this.#transaction.commit();
      this.#told = 'committed';
    } catch (error) {
      this.#told = isUnknown(error) ? 'unknown' : 'rolled back';
      // The application gives up; what it may not do any more is refused.
      await this.#transaction.rollback().catch(() => undefined);
    }
  }

  get #isOver(): boolean {
    return this.#told !== undefined;
  }

  /** Runs events until all is over; `at` is called before the event of number `atEvent`. Returns how many events ran. */
  async #runEvents(atEvent: number, isOver: () => boolean, at: () => void): Promise<number> {
    const untilMs = this.#scheduler.nowMs + settledMs;
    let events = 0;
    await drainPromises();
    for (; !isOver(); events += 1) {
      if (events === atEvent) {
        at();
        await drainPromises();
      }
      if (!this.#scheduler.runNext(untilMs)) break; // its coordinator has crashed
      await drainPromises();
    }
    return events;
  }

  #crash(): void {
    const nodes = new Set(this.#options.roles.map((role) => this.#nodes[role]));
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

  /** Where the transaction is, by what its files have: written, or synced. */
  #pointOf(): string {
    if (this.#progress !== 'ended') return this.#progress;
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

  /** Whether the transaction was committed. Throws a `SimulationFailure` if that is not the same everywhere. */
  async #verify(): Promise<boolean> {
    const left = [await this.#takeAll(this.#nodes.first), await this.#takeAll(this.#nodes.second)];
    const seen = JSON.stringify(left);
    const committed =
      seen ===
      JSON.stringify([
        ['more 1', 'out 1', '90'],
        ['out 2', '110'],
      ]);
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
    } of Object.values(this.#nodes)) {
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
    await this.#finish(addTo(node, 0)); // nothing of it is locked
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
