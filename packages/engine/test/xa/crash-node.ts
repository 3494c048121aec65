/** One instance of a crash run, called from outside: its calls fail or hang at a crash, and bugs can be planted. */
import { QueueError } from '../../src/api/errors.ts';
import type { Session } from '../../src/api/session.ts';
import type { XaBranchPlace, XaCommitOptions, XaResource, XaStartOptions, Xid } from '../../src/api/xa.ts';
import type { Opening, SimulatedInstance } from '../simulator/simulated-instance.ts';

/** Bugs with which tests show that the checks work. */
export type PlantedBug =
  | 'the decision is not written'
  | 'a branch says that it is prepared before it is on disk'
  | 'a branch commits before the decision'
  | 'recovery presumes a commit'
  | 'a commit leaves out the rows'
  | 'a prepared branch is forgotten with its instance'
  | 'the home instance leaves out what was shipped'
  | 'shipped work counts as taken and is dropped'
  | 'shipped work is kept by both instances'
  | 'a prepare that is passed on is answered before it is carried out'
  | 'a commit that is passed on is not carried out';

/** The process of the application and its coordinator. */
export interface Application {
  isAlive: boolean;
}

/**
 * The branches of a node for the application, which calls the node itself, or `through` another one that passes the calls on. Calls of
 * an application whose process has ended are not made.
 */
export function resourceOf(node: Node, application: Application, through = node): XaResource {
  const call = <T>(make: () => Promise<T>): Promise<T> =>
    application.isAlive ? make() : new Promise(() => undefined);
  const place = through === node ? {} : { instance: node.simulated.instance };
  const { resource } = through;
  return {
    prepare: (xid) => call(() => resource.prepare(xid, place)),
    commit: (xid, options) => call(() => resource.commit(xid, { ...options, ...place })),
    rollback: (xid) => call(() => resource.rollback(xid, place)),
    recover: () => call(() => node.resource.recover()),
    forget: (xid) => call(() => node.resource.forget(xid)),
  };
}

/** One instance with its sessions and calls from outside. */
export class Node {
  readonly simulated: SimulatedInstance;
  #onKilled: ((error: QueueError) => void)[] = [];
  readonly #hangs: () => boolean;
  readonly #bug: PlantedBug | undefined;

  readonly #onTheWay: () => Promise<void>;

  /**
   * `hangs` draws whether a call that is under way at a crash is never answered, instead of failing with the connection. `onTheWay`
   * delays a prepare on its way to the instance, so that prepares arrive in any order.
   */
  constructor(
    simulated: SimulatedInstance,
    options: { hangs(): boolean; onTheWay(): Promise<void>; bug: PlantedBug | undefined },
  ) {
    this.simulated = simulated;
    this.#hangs = options.hangs;
    this.#onTheWay = options.onTheWay;
    this.#bug = options.bug;
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
    this.open();
  }

  open(): void {
    this.simulated.open();
    const { shipped } = this.opening.parts.homeInstances;
    if (this.#bug === 'the home instance leaves out what was shipped') shipped.giveTo = () => undefined;
    if (this.#bug === 'shipped work counts as taken and is dropped')
      shipped.prepareShipped = (...branch) => {
        shipped.withdraw(...branch);
        return 'taken';
      };
    if (this.#bug === 'shipped work is kept by both instances') shipped.prepareShipped = () => 'not taken';
  }

  /** A call that ends when its opening of the instance ends. */
  reach<T>(call: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.#hangs()) this.#onKilled.push(reject);
      call.then(resolve, reject);
    });
  }

  get resource(): XaResource {
    const branches = () => this.opening.parts.branches;
    return {
      prepare: (xid, place = {}) => this.#prepare(xid, place),
      commit: (xid, options = {}) => this.#commit(xid, options),
      rollback: (xid, place) => this.reach(branches().rollback(xid, place)),
      recover: () => this.reach(branches().recover()),
      forget: (xid) => this.reach(branches().forget(xid)),
    };
  }

  #commit(xid: Xid, options: XaCommitOptions): Promise<void> {
    if (this.#bug === 'a commit that is passed on is not carried out' && options.instance !== undefined)
      return Promise.resolve();
    if (this.#bug === 'a commit leaves out the rows') {
      const { preparedBranches } = this.simulated.file.tables;
      for (const [key, row] of preparedBranches) preparedBranches.set(key, { ...row, rows: '[]' });
    }
    return this.reach(this.opening.parts.branches.commit(xid, options));
  }

  async #prepare(xid: Xid, place: XaBranchPlace): Promise<'ok' | 'read-only'> {
    await this.#onTheWay();
    const { branches } = this.opening.parts;
    const preparing = this.reach(branches.prepare(xid, place));
    const answersEarly =
      this.#bug === 'a branch says that it is prepared before it is on disk' ||
      (this.#bug === 'a prepare that is passed on is answered before it is carried out' &&
        place.instance !== undefined);
    if (answersEarly) {
      preparing.catch(() => undefined);
      return 'ok';
    }
    if (this.#bug === 'a branch commits before the decision') {
      return preparing.then(async (vote) => {
        await this.reach(branches.commit(xid));
        return vote;
      });
    }
    return preparing;
  }

  openSession(application: Application): Session {
    const { opening } = this;
    const session = this.simulated.openSession();
    const rejectUnreachable = () => Promise.reject(new QueueError('XAER_RMFAIL'));
    const call = <T>(make: () => Promise<T>): Promise<T> => {
      if (!application.isAlive) return new Promise(() => undefined);
      return this.simulated.opening === opening ? this.reach(make()) : rejectUnreachable();
    };
    const { xa } = session;
    return new Proxy<Session>(session, {
      get: (target, property) => {
        if (property === 'dequeue') return (queue: string) => call(() => session.dequeue(queue));
        if (property === 'xa') {
          return {
            ...resourceOf(this, application),
            get home() {
              return xa.home;
            },
            start: (xid: Xid, options: XaStartOptions) => call(() => xa.start(xid, options)),
            end: (xid: Xid, how: 'success' | 'fail') => call(() => xa.end(xid, how)),
          };
        }
        const value = Reflect.get(target, property, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}
