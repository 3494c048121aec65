/**
 * A transaction manager for applications that have none: two-phase commit with presumed abort over participants that speak XA.
 * Its decisions are rows of the instance that it belongs to (`decisions.ts`). After a crash `resolve` ends the branches that were
 * left in doubt.
 */

import type {
  GlobalTransactionOptions,
  ResolvedBranch,
  TransactionCoordinator,
} from '../../api/coordinator.ts';
import { QueueError } from '../../api/errors.ts';
import { limits } from '../../api/limits.ts';
import type { XaResource, Xid } from '../../api/xa.ts';
import { assertFields } from '../../model/call-arguments.ts';
import { globalTransactionFields } from '../../model/call-fields.ts';
import type { Epoch, InstanceId } from '../../model/ids.ts';
import type { Ports, Timer } from '../../model/ports.ts';
import { within } from '../../model/within.ts';
import type { Decisions } from './decisions.ts';
import { DistributedTransaction } from './distributed-transaction.ts';
import { gtridOf, transactionNameOf } from './transaction-name.ts';

export interface CoordinatorOptions {
  /** The instance that stores the decisions, and its epoch. */
  instance: InstanceId;
  epoch: Epoch;
  decisions: Decisions;
  participants: ReadonlyMap<string, XaResource>;
  ports: Pick<Ports, 'clock' | 'timers'>;
}

export class Coordinator implements TransactionCoordinator {
  readonly #options: CoordinatorOptions;
  #resolveTimer: Timer | undefined;
  #closed = false;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
  }

  begin(options: GlobalTransactionOptions = {}): DistributedTransaction {
    if (this.#closed) throw new QueueError('INSTANCE_CLOSED', { message: 'The coordinator is closed' });
    assertFields(options, globalTransactionFields);
    const { instance, epoch, decisions, participants } = this.#options;
    const gtrid = gtridOf({ instance, epoch, number: decisions.nextNumber() });
    decisions.begin(gtrid);
    return new DistributedTransaction(gtrid, {
      startOptions: options,
      participantOf: (name) => {
        const participant = participants.get(name);
        if (participant !== undefined) return participant;
        throw new QueueError('XAER_INVAL', { message: `There is no participant ${name}` });
      },
      decisions,
      within: (call) => this.#within(call),
      onEnded: (isResolved) => {
        decisions.end(gtrid);
        if (!isResolved) this.#scheduleResolve();
      },
    });
  }

  /** Rejects with `XAER_RMFAIL` if the call takes longer than any participant that lives. */
  #within<T>(call: Promise<T>): Promise<T> {
    const { xaCallMsMax: msMax } = limits;
    const late = () =>
      new QueueError('XAER_RMFAIL', {
        message: `A participant did not answer within ${msMax} ms`,
        details: { msMax },
      });
    return within(this.#options.ports.timers, { msMax, late }, () => call);
  }

  #scheduleResolve(): void {
    if (this.#closed) return;
    this.#resolveTimer ??= this.#options.ports.timers.after(limits.xaResolveMs, () => {
      this.#resolveTimer = undefined;
      void this.resolve().catch(() => undefined); // it schedules itself again
    });
  }

  async resolve(): Promise<ResolvedBranch[]> {
    const { participants, decisions } = this.#options;
    // Decisions made from here on may have branches that a participant did not list yet.
    const decidedBefore = decisions.all.filter((gtrid) => !decisions.isUnderWay(gtrid));
    const resolved: ResolvedBranch[] = [];
    /** Participants without branches left, except those of transactions under way. */
    const clear = new Set<string>();
    await Promise.all(
      [...participants].map(async ([name, participant]) => {
        try {
          for (const xid of await this.#within(participant.recover())) {
            const outcome = this.#outcomeOf(xid);
            if (outcome === undefined) continue;
            await this.#end(participant, xid, outcome);
            resolved.push({ participant: name, xid, outcome });
          }
          clear.add(name);
        } catch {
          this.#scheduleResolve(); // its branches stay in doubt until it answers
        }
      }),
    );
    for (const gtrid of decidedBefore) {
      if (!decisions.participantsOf(gtrid).every((name) => clear.has(name))) continue;
      await decisions.forget(gtrid).catch(() => this.#scheduleResolve());
    }
    return resolved;
  }

  /** Undefined for a branch that is not for this coordinator to end, or not now. */
  #outcomeOf(xid: Xid): ResolvedBranch['outcome'] | undefined {
    const name = transactionNameOf(xid);
    const { instance, epoch, decisions } = this.#options;
    // A later epoch: this coordinator was replaced and has not noticed yet.
    if (name?.instance !== instance || name.epoch > epoch || decisions.isUnderWay(xid.gtrid))
      return undefined;
    if (decisions.has(xid.gtrid)) return 'committed';
    // Whether the last decision is on disk, only the next opening of the instance knows.
    return decisions.failure === undefined ? 'rolled back' : undefined;
  }

  async #end(participant: XaResource, xid: Xid, outcome: ResolvedBranch['outcome']): Promise<void> {
    try {
      await this.#within(outcome === 'committed' ? participant.commit(xid) : participant.rollback(xid));
    } catch (error) {
      if (!(error instanceof QueueError) || error.code !== 'XAER_NOTA') throw error; // it is done
    }
  }

  close(): void {
    this.#closed = true;
    this.#resolveTimer?.cancel();
  }
}
