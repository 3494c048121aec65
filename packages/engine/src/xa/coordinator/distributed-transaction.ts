/** One distributed transaction of a coordinator, from its first branch to its end. It lives in memory only. */

import type { GlobalTransaction, GlobalTransactionOptions } from '../../api/coordinator.ts';
import { QueueError } from '../../api/errors.ts';
import type { Session } from '../../api/session.ts';
import type { XaResource, XaVote, Xid } from '../../api/xa.ts';
import type { InstanceId } from '../../model/ids.ts';
import type { Decisions } from './decisions.ts';
import { coordinatorFormatId } from './transaction-name.ts';

export interface TransactionContext {
  startOptions: GlobalTransactionOptions;
  /** Throws `XAER_INVAL`. */
  participantOf(name: string): XaResource;
  decisions: Decisions;
  /** Bounds the time of a call to a participant. */
  within<T>(call: Promise<T>): Promise<T>;
  /** `isResolved`: no participant can have a branch of it, and no decision about it is stored. */
  onEnded(isResolved: boolean): void;
}

interface EnlistedBranch {
  xid: Xid;
  name: string;
  participant: XaResource;
  session: Session;
  vote: XaVote | undefined;
}

export class DistributedTransaction implements GlobalTransaction {
  readonly gtrid: Uint8Array;
  readonly #context: TransactionContext;
  readonly #branches: EnlistedBranch[] = [];
  #ended = false;
  /** Home instance of a tightly coupled transaction, once it is known. */
  #home: InstanceId | undefined;

  constructor(gtrid: Uint8Array, context: TransactionContext) {
    this.gtrid = gtrid;
    this.#context = context;
    this.#home = context.startOptions.home;
  }

  async enlist(name: string, session: Session): Promise<void> {
    this.#assertOpen();
    const xa = session?.xa;
    if (xa === undefined)
      throw new QueueError('XAER_INVAL', { message: 'enlist needs a session with an XA interface' });
    const participant = this.#context.participantOf(name);
    const bqual = Buffer.from(`${name}/${this.#branches.length}`);
    const branch = {
      xid: { formatId: coordinatorFormatId, gtrid: this.gtrid, bqual },
      name,
      participant,
      session,
    };
    this.#branches.push({ ...branch, vote: undefined });
    try {
      const home = this.#home === undefined ? undefined : { home: this.#home };
      await this.#context.within(xa.start(branch.xid, { ...this.#context.startOptions, ...home }));
      this.#home ??= xa.home;
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  #assertOpen(): void {
    if (this.#ended) throw new QueueError('XAER_PROTO', { message: 'The distributed transaction has ended' });
  }

  async commit(): Promise<void> {
    this.#assertOpen();
    this.#ended = true;
    const { within } = this.#context;
    try {
      await Promise.all(this.#branches.map(({ session, xid }) => within(session.xa!.end(xid))));
      if (this.#branches.length > 1) await this.#prepareAll();
    } catch (error) {
      await this.#rollbackAll();
      throw error;
    }
    const [only] = this.#branches;
    if (this.#branches.length === 1) await this.#commitAlone(only!, { onePhase: true });
    else {
      const toCommit = this.#branches.filter(({ vote }) => vote === 'ok');
      if (toCommit.length === 1) await this.#commitAlone(toCommit[0]!, {});
      else if (toCommit.length > 1) await this.#decideAndCommit(toCommit);
      else this.#context.onEnded(true);
    }
  }

  /** Branches of one participant one after the other, so that the first can leave its work to the next. */
  async #prepareAll(): Promise<void> {
    const byParticipant = Map.groupBy(this.#branches, ({ participant }) => participant);
    const outcomes = await Promise.allSettled(
      [...byParticipant.values()].map(async (branches) => {
        for (const branch of branches)
          branch.vote = await this.#context.within(branch.participant.prepare(branch.xid));
      }),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  /** The only branch with work: its commit is the decision. */
  async #commitAlone({ participant, xid }: EnlistedBranch, options: { onePhase?: boolean }): Promise<void> {
    const { within, onEnded } = this.#context;
    try {
      await within(participant.commit(xid, options));
    } catch (error) {
      if (error instanceof QueueError && error.code === 'XAER_RMFAIL') {
        onEnded(false);
        throw new QueueError('COMMIT_OUTCOME_UNKNOWN', { cause: error });
      }
      await this.#rollbackAll();
      throw error;
    }
    onEnded(true);
  }

  async #decideAndCommit(toCommit: readonly EnlistedBranch[]): Promise<void> {
    const { decisions, within, onEnded } = this.#context;
    try {
      await decisions.decide(this.gtrid, [...new Set(toCommit.map(({ name }) => name))]);
    } catch (error) {
      if (decisions.failure === undefined) await this.#rollbackAll();
      else onEnded(false); // the decision may be on disk: only the next opening of the instance knows
      throw decisions.failure === undefined
        ? error
        : new QueueError('COMMIT_OUTCOME_UNKNOWN', {
            cause: error,
            message: 'Whether the decision to commit is stored is not known',
          });
    }
    const outcomes = await Promise.allSettled(
      toCommit.map(({ participant, xid }) => within(participant.commit(xid))),
    );
    const allDone = outcomes.every(({ status }) => status === 'fulfilled');
    const isForgotten =
      allDone &&
      (await decisions.forget(this.gtrid).then(
        () => true,
        () => false, // a later `resolve` forgets it
      ));
    onEnded(isForgotten);
  }

  async rollback(): Promise<void> {
    this.#assertOpen();
    this.#ended = true;
    await this.#rollbackAll();
  }

  async #rollbackAll(): Promise<void> {
    const { within, onEnded } = this.#context;
    const outcomes = await Promise.all(
      this.#branches.map(async ({ session, participant, xid, vote }) => {
        if (vote === 'read-only') return true;
        // Ended already, unless the transaction is rolled back in the middle of its work.
        await within(session.xa!.end(xid, 'fail')).catch(() => undefined);
        return within(participant.rollback(xid)).then(
          () => true,
          (error: unknown) => error instanceof QueueError && error.code === 'XAER_NOTA',
        );
      }),
    );
    onEnded(outcomes.every((isDone) => isDone));
  }
}
