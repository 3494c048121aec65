/**
 * Random work of sessions on one simulated instance: local transactions and branches that end in every way, with full disks and
 * power cuts at any event. A model knows which messages must be live and which are held.
 */
import { QueueError } from '../../src/api/errors.ts';
import type { Xid } from '../../src/api/xa.ts';
import { xidKey } from '../../src/model/xid.ts';
import type { InstanceSession } from '../../src/runtime/instance-session.ts';
import { Chance, drainPromises, Scheduler } from '../simulator/scheduler.ts';
import { SimulatedInstance } from '../simulator/simulated-instance.ts';
import { SimulatedNetwork } from '../simulator/simulated-interconnect.ts';
import { simulatedQueues } from '../simulator/simulated-queues.ts';
import { expectThat, SimulationFailure } from '../simulator/simulation-failure.ts';
import { KnownMessages, newWork, type Work } from './known-messages.ts';
import { xidOf } from './xid-of.ts';

type BranchState = 'active' | 'ended' | 'prepared' | 'gone';

interface KnownBranch {
  xid: Xid;
  work: Work;
  state: BranchState;
  /** The call under way, which may already have taken effect. */
  underWay: 'prepare' | 'commit' | 'rollback' | undefined;
}

interface Actor {
  session: InstanceSession;
  /** The work of the open local transaction or of the branch. */
  work: Work;
  branch: KnownBranch | undefined;
  busy: boolean;
  /** Whether a local commit is under way. */
  isCommitting: boolean;
}

const queueNames = ['orders', 'alerts'];

export interface RandomBranchesResult {
  prepared: number;
  committed: number;
  rolledBack: number;
  inDoubtAfterCrash: number;
  crashes: number;
}

export class RandomBranches {
  readonly #chance: Chance;
  readonly #scheduler = new Scheduler();
  readonly #instance: SimulatedInstance;
  readonly #messages = new KnownMessages();
  #actors: Actor[] = [];
  #branches: KnownBranch[] = [];
  #lastNumber = 0;
  readonly #result: RandomBranchesResult = {
    prepared: 0,
    committed: 0,
    rolledBack: 0,
    inDoubtAfterCrash: 0,
    crashes: 0,
  };
  #failure: unknown;

  constructor(seed: number) {
    const chance = new Chance(seed);
    this.#chance = chance;
    this.#instance = new SimulatedInstance({
      instance: 1,
      instances: [1],
      scheduler: this.#scheduler,
      chance,
      network: new SimulatedNetwork(this.#scheduler, chance, () => undefined),
      queues: simulatedQueues,
      cacheBytesMax: chance.pick([300, 2_000, 1_000_000]),
      partitionMessagesMax: chance.between(2, 8),
      consumerIdleMs: 500,
    });
  }

  async run(steps: number): Promise<RandomBranchesResult> {
    this.#instance.open();
    for (let step = 0; step < steps; step += 1) {
      this.#act();
      await drainPromises();
      for (let events = this.#chance.below(4); events > 0; events -= 1) await this.#runEvent();
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#instance.opening!.failed !== undefined || this.#chance.percent(2)) await this.#crash();
    }
    await this.#settle();
    this.#verifyTables();
    return this.#result;
  }

  async #runEvent(): Promise<boolean> {
    const ran = this.#scheduler.runNext(this.#scheduler.nowMs + 1_000);
    await drainPromises();
    return ran;
  }

  #act(): void {
    if (this.#actors.length < 4) this.#actors.push(this.#newActor());
    const actor = this.#chance.pick(this.#actors);
    const draw = this.#chance.below(100);
    if (draw < 25) this.#endBranch();
    else if (draw < 27) this.#instance.faults.next = 'diskFull';
    else if (actor.busy) return;
    else if (draw < 42) this.#enqueue(actor);
    else if (draw < 60) this.#dequeue(actor);
    else if (actor.branch !== undefined) this.#leaveBranch(actor);
    else if (draw < 88) this.#startBranch(actor);
    else this.#endLocal(actor, this.#chance.percent(70));
  }

  #newActor(): Actor {
    return {
      session: this.#instance.openSession(),
      work: newWork(),
      branch: undefined,
      busy: false,
      isCommitting: false,
    };
  }

  /** Runs a call. The run fails if the call fails for another reason than storage or the end of the instance. */
  #call<T>(
    actor: Actor | undefined,
    call: Promise<T>,
    onDone: (value: T) => void,
    onFailed?: (code: string) => void,
  ) {
    if (actor !== undefined) actor.busy = true;
    call
      .then(
        (value) => {
          if (actor !== undefined) actor.busy = false;
          onDone(value);
        },
        (error: unknown) => {
          if (actor !== undefined) actor.busy = false;
          if (!(error instanceof QueueError) || error instanceof SimulationFailure || onFailed === undefined)
            throw error;
          onFailed(error.code);
        },
      )
      .catch((error: unknown) => {
        this.#failure ??= error;
      });
  }

  #enqueue({ session, work }: Actor): void {
    this.#lastNumber += 1;
    const payload = `m${this.#lastNumber}`;
    const delayMs = this.#chance.percent(10) ? this.#chance.between(1, 50) : 0;
    session.enqueue(this.#chance.pick(queueNames), { payload, delayMs });
    work.enqueued.add(payload);
  }

  #dequeue(actor: Actor): void {
    const max = this.#chance.between(1, 4);
    this.#call(actor, actor.session.dequeue(this.#chance.pick(queueNames), { max }), (messages) => {
      for (const { payload } of messages) {
        const name = payload.toString();
        this.#messages.deliver(name);
        actor.work.consumed.add(name);
      }
    });
  }

  #endLocal(actor: Actor, commits: boolean): void {
    const { work, session } = actor;
    if (!commits) {
      this.#messages.release(work);
      actor.work = newWork();
      this.#call(actor, session.rollback(), () => undefined);
      return;
    }
    actor.isCommitting = true;
    this.#messages.beginCommit(work);
    this.#call(
      actor,
      session.commit(),
      () => {
        actor.isCommitting = false;
        actor.work = newWork();
        this.#messages.apply(work);
      },
      () => {
        actor.isCommitting = false;
        actor.work = newWork();
        this.#messages.forget(work);
      },
    );
  }

  #startBranch(actor: Actor): void {
    const { work } = actor;
    if (work.enqueued.size + work.consumed.size > 0) {
      this.#endLocal(actor, true);
      return;
    }
    this.#lastNumber += 1;
    const xid = xidOf(`transfer ${this.#lastNumber}`);
    const branch: KnownBranch = { xid, work, state: 'active', underWay: undefined };
    this.#call(actor, actor.session.xa.start(xid, { timeoutMs: 86_400_000 }), () => {
      actor.branch = branch;
      this.#branches.push(branch);
    });
  }

  #leaveBranch(actor: Actor): void {
    const branch = actor.branch!;
    const fails = this.#chance.percent(10);
    actor.branch = undefined;
    actor.work = newWork();
    if (fails) {
      branch.state = 'gone';
      this.#messages.release(branch.work);
    }
    this.#call(actor, actor.session.xa.end(branch.xid, fails ? 'fail' : 'success'), () => {
      if (!fails) branch.state = 'ended';
    });
  }

  /** Prepares, commits or rolls back a branch in which no session works. */
  #endBranch(): void {
    const { branches } = this.#instance.opening!.parts;
    const candidates = this.#branches.filter(
      ({ state, underWay }) => (state === 'ended' || state === 'prepared') && underWay === undefined,
    );
    if (candidates.length === 0) return;
    const branch = this.#chance.pick(candidates);
    const { xid } = branch;
    if (this.#chance.percent(25)) this.#rollback(branch, branches.rollback(xid));
    else if (branch.state === 'prepared') this.#commit(branch, branches.commit(xid));
    else if (this.#chance.percent(15)) this.#commit(branch, branches.commit(xid, { onePhase: true }));
    else {
      branch.underWay = 'prepare';
      this.#call(
        undefined,
        branches.prepare(xid),
        (vote) => {
          branch.underWay = undefined;
          branch.state = vote === 'ok' ? 'prepared' : 'gone';
          if (vote === 'ok') this.#result.prepared += 1;
        },
        () => {
          branch.underWay = undefined;
          branch.state = 'gone';
          this.#messages.release(branch.work);
        },
      );
    }
  }

  #commit(branch: KnownBranch, call: Promise<void>): void {
    branch.underWay = 'commit';
    this.#messages.beginCommit(branch.work);
    this.#call(
      undefined,
      call,
      () => {
        this.#result.committed += 1;
        this.#end(branch);
        this.#messages.apply(branch.work);
      },
      (code) => {
        branch.underWay = undefined;
        this.#messages.refuseCommit(branch.work);
        if (code === 'XA_RETRY') return; // The branch stays prepared.
        this.#end(branch);
        this.#messages.forget(branch.work);
      },
    );
  }

  #rollback(branch: KnownBranch, call: Promise<void>): void {
    branch.underWay = 'rollback';
    this.#messages.release(branch.work);
    this.#call(
      undefined,
      call,
      () => {
        this.#result.rolledBack += 1;
        this.#end(branch);
      },
      () => {
        branch.underWay = undefined;
        this.#messages.hold(branch.work);
      },
    );
  }

  #end(branch: KnownBranch): void {
    branch.underWay = undefined;
    branch.state = 'gone';
  }

  /** A power cut. The file shows whether calls under way took effect, each as a whole or not at all. */
  async #crash(): Promise<void> {
    this.#result.crashes += 1;
    const actors = this.#actors;
    this.#actors = [];
    this.#instance.kill();
    this.#instance.open();
    this.#messages.releaseAll();
    const live = new Set(this.#liveInFile());
    for (const { isCommitting, work } of actors) if (isCommitting) this.#resolveUnknown(work, live);
    const { branches } = this.#instance.opening!.parts;
    const inDoubt = new Set((await branches.recover()).map(xidKey));
    for (const branch of this.#branches) this.#recoverBranch(branch, inDoubt.has(xidKey(branch.xid)), live);
    expectThat(
      inDoubt.size === this.#branches.filter(({ state }) => state === 'prepared').length,
      () => 'an unknown branch is in doubt',
    );
    this.#messages.decideAll();
    this.#verifyTables();
  }

  #recoverBranch(branch: KnownBranch, isInDoubt: boolean, live: ReadonlySet<string>): void {
    const { state, underWay, work } = branch;
    branch.underWay = undefined;
    if (isInDoubt) {
      // A rollback is not synced, so a crash may undo it. No other ended branch may be back.
      const wasPrepared = state === 'prepared' || underWay === 'prepare' || state === 'gone';
      expectThat(wasPrepared, () => `a branch that was ${state} is in doubt`);
      this.#result.inDoubtAfterCrash += 1;
      branch.state = 'prepared';
      this.#messages.hold(work);
      return;
    }
    branch.state = 'gone';
    if (underWay === 'commit') this.#resolveUnknown(work, live);
    else expectThat(state !== 'prepared' || underWay !== undefined, () => 'a prepared branch is lost');
  }

  #resolveUnknown({ enqueued, consumed }: Work, live: ReadonlySet<string>): void {
    const done =
      [...enqueued].filter((name) => live.has(name)).length +
      [...consumed].filter((name) => !live.has(name)).length;
    const all = enqueued.size + consumed.size;
    expectThat(done === 0 || done === all, () => `${done} of ${all} parts of a transaction are done`);
    if (done > 0) this.#messages.apply({ enqueued, consumed });
  }

  /** Ends all branches, and lets time pass until no call is under way. */
  async #settle(): Promise<void> {
    for (let round = 0; round < 1_000; round += 1) {
      this.#instance.faults.next = undefined;
      const isOver = this.#branches.every(
        ({ state, underWay }) => state !== 'prepared' && underWay === undefined,
      );
      if (isOver && this.#actors.every(({ busy }) => !busy)) return;
      this.#endBranch();
      await drainPromises();
      await this.#runEvent();
      if (this.#failure !== undefined) throw this.#failure;
    }
    throw new SimulationFailure('calls are never answered');
  }

  *#liveInFile(): Generator<string> {
    for (const { payload, live } of this.#instance.file.tables.messages()) if (live) yield payload;
  }

  #verifyTables(): void {
    const inFile = [...this.#liveInFile()].sort();
    const twice = inFile.find((name, index) => inFile[index + 1] === name);
    expectThat(twice === undefined, () => `${twice} is live twice`);
    this.#messages.assertLive(inFile);
  }
}
