/** The loops of the sessions of the program `xa`: local transactions, branches committed in one phase, and two-phase commits. */
import type { SequenceLane } from '@shardlab/contract';
import type { XaStartOptions, XaVote, Xid } from '@shardlab/engine';
import { DeliveryOrder, type Ledger, type OrderCheck } from '../../integrity/ledger.ts';
import type { PayloadCodec, PayloadIdentity } from '../../integrity/payload.ts';
import { spanOf } from './trace.ts';
import type { XaParams } from './xa-params.ts';
import type { XaClientSession } from './xa-session.ts';

export interface LoopContext {
  params: XaParams;
  codec: PayloadCodec;
  ledger: Ledger;
}

/** Format id of all xids of the lab. */
export const formatId = 1;

/** One message of one session: what its branch or local transaction is about. */
class Work {
  readonly session: XaClientSession;
  readonly #context: LoopContext;
  readonly #order: OrderCheck = new DeliveryOrder();
  #sequence = 0;
  #dequeued: PayloadIdentity | null = null;

  constructor(session: XaClientSession, context: LoopContext) {
    this.session = session;
    this.#context = context;
  }

  async run(xid?: Xid): Promise<void> {
    this.session.resume();
    const { params, codec, ledger } = this.#context;
    if (params.work !== 'dequeue') {
      const { number: enqueuer } = this.session;
      const sequence = this.#sequence;
      const payload = codec.make({ enqueuer, sequence, sentAtMs: performance.now() });
      if (params.work === 'enqueue') await this.session.enqueue(payload, xid);
      else await this.session.insert({ session: enqueuer, sequence, payload }, xid);
      return;
    }
    const [message] = await this.session.dequeue();
    this.session.resume();
    if (message === undefined) throw new Error(`queue of session ${this.session.number} is empty`);
    this.#dequeued = ledger.recordDelivery(message, this.#order);
  }

  onCommitted(): void {
    this.session.resume();
    const { params, ledger } = this.#context;
    this.#sequence += 1;
    if (params.work !== 'dequeue') ledger.recordCommitted(this.session.number, this.#sequence);
    else if (this.#dequeued !== null) ledger.recordConsumed(this.#dequeued);
    this.session.yield();
  }
}

/** One closed loop: a session, or two that work together. */
export class Loop {
  readonly #number: number;
  readonly #works: readonly Work[];
  readonly #params: XaParams;
  #phases: { name: string; fromMs: number; toMs: number }[] | undefined;
  readOnlyVotes = 0;
  activeTogether = 0;
  sequence: SequenceLane[] = [];

  constructor(number: number, sessions: readonly XaClientSession[], context: LoopContext) {
    this.#number = number;
    this.#works = sessions.map((session) => new Work(session, context));
    this.#params = context.params;
  }

  /** Runs the loop's transactions. The one in the middle is recorded, when everything is warm. */
  async run(): Promise<void> {
    const { messagesPerSession } = this.#params;
    const recorded = Math.floor(messagesPerSession / 2);
    for (const { session } of this.#works) session.begin();
    for (let each = 0; each < messagesPerSession; each += 1) {
      if (each === recorded) this.#startRecording();
      const originMs = performance.now();
      await this.#transaction(each);
      if (each === recorded) this.#endRecording(originMs);
      for (const work of this.#works) work.onCommitted();
    }
    for (const { session } of this.#works) session.finish();
  }

  #startRecording(): void {
    this.#phases = [];
    for (const { session } of this.#works) session.trace.record();
  }

  #endRecording(originMs: number): void {
    const coordinator = {
      name: 'coordinator',
      calls: this.#phases!.map((phase) => spanOf(phase, originMs)),
      states: [],
    };
    this.#phases = undefined;
    const isXa = this.#params.transaction !== 'local';
    this.sequence = [
      ...(isXa ? [coordinator] : []),
      ...this.#works.map(({ session: { trace } }, index) =>
        trace.lane(isXa ? `branch ${index + 1}: ${trace.name}` : trace.name, originMs),
      ),
    ];
  }

  async #phase<T>(name: string, work: () => Promise<T>): Promise<T> {
    const fromMs = performance.now();
    const result = await work();
    this.#phases?.push({ name, fromMs, toMs: performance.now() });
    return result;
  }

  async #transaction(number: number): Promise<void> {
    if (this.#params.transaction === 'local') {
      const [work] = this.#works;
      await work!.run();
      await work!.session.commit();
      return;
    }
    const gtrid = Buffer.from(`lab.${this.#number}.${number}`);
    const branches = this.#works.map((work, index) => ({
      work,
      xid: { formatId, gtrid, bqual: Buffer.from(`branch ${index + 1}`) },
    }));
    await this.#phase('work', () => this.#workInAll(branches));
    if (branches.length === 1) {
      const { xid, work } = branches[0]!;
      await this.#phase('commit', () =>
        work.session.commitBranch(xid, work.session.instance, { onePhase: true }),
      );
      return;
    }
    const votes = await this.#phase('prepare', () => this.#prepareAll(branches));
    await this.#phase('commit', () => this.#commitAll(votes));
  }

  /** Works in all branches at the same time, as far as their lock allows. */
  async #workInAll(branches: readonly BranchOf[]): Promise<void> {
    const active = await Promise.all(
      branches.map(async ({ work, xid }) => {
        await work.session.start(xid, this.#startOptions());
        const fromMs = performance.now();
        await work.run(xid);
        const toMs = performance.now();
        await work.session.end(xid);
        work.session.awaitOther();
        return { fromMs, toMs };
      }),
    );
    if (active.length < 2) return;
    const begin = Math.max(...active.map(({ fromMs }) => fromMs));
    const end = Math.min(...active.map(({ toMs }) => toMs));
    if (begin < end) this.activeTogether += 1;
  }

  #startOptions(): XaStartOptions {
    const { coupling } = this.#params;
    if (coupling === 'loose') return {};
    const home = this.#works[0]!.session.instance;
    return { coupling: 'tight', home, lock: coupling === 'tight' ? 'call' : 'branch' };
  }

  /** Prepares the branches once all have ended, so that a branch can ship its work to another one. */
  #prepareAll(branches: readonly BranchOf[]): Promise<Voted[]> {
    const preparers = this.#params.preparedBy === 'own' ? branches : branches.toReversed();
    return Promise.all(
      branches.map(async ({ work, xid }, index) => {
        const preparer = preparers[index]!.work.session;
        const { instance } = work.session;
        const vote = await preparer.prepare(xid, instance);
        if (vote === 'read-only') this.readOnlyVotes += 1;
        preparer.awaitOther();
        return { xid, instance, preparer, vote };
      }),
    );
  }

  async #commitAll(votes: readonly Voted[]): Promise<void> {
    await Promise.all(
      votes
        .filter(({ vote }) => vote === 'ok')
        .map(async ({ preparer, xid, instance }) => {
          await preparer.commitBranch(xid, instance);
          preparer.awaitOther();
        }),
    );
  }
}

interface BranchOf {
  work: Work;
  xid: Xid;
}

interface Voted {
  xid: Xid;
  instance: number;
  preparer: XaClientSession;
  vote: XaVote;
}
