/** A session of a singleton service: its transactions may also change what the service keeps. */

import { limits } from '../api/limits.ts';
import type { Json, ServiceSession } from '../api/service.ts';
import type { CommitOptions, ReturnOptions, Session } from '../api/session.ts';
import type { OutcomeTag } from '../commit/staged-transaction.ts';
import type { InstanceId, SessionNumber } from '../model/ids.ts';
import type { LazyCommitResult } from '../model/session-calls.ts';
import { toJsonText } from '../model/validate-services.ts';
import type { RecordedTime } from '../model/wait-recorder.ts';
import type { ServiceState } from '../singletons/service-instance.ts';
import { InstanceSession } from './instance-session.ts';
import type { SessionContext } from './served-queues.ts';

export class SessionOfService extends InstanceSession implements ServiceSession, Session {
  readonly #state: ServiceState;
  readonly #open: Set<ServiceSession>;
  #staged: string | undefined;

  /** `open` has the session until it is closed. */
  constructor(
    of: { instance: InstanceId; sessionNumber: SessionNumber; context: SessionContext; time: RecordedTime },
    state: ServiceState,
    open: Set<ServiceSession>,
  ) {
    super(of.instance, of.sessionNumber, of.context, of.time);
    this.#state = state;
    this.#open = open;
    open.add(this);
  }

  writeState(state: Json): void {
    const text = toJsonText(state, {
      bytesMax: limits.serviceStateBytesMax,
      code: 'SERVICE_STATE_TOO_LARGE',
    });
    const { name, epoch } = this.#state;
    this.writeServiceState({ name, epoch, state: text });
    this.#staged = text;
  }

  override async commit(options?: CommitOptions, outcome?: OutcomeTag): Promise<LazyCommitResult> {
    const committing = super.commit(options, outcome);
    const staged = this.#takeStaged();
    const result = await committing;
    if (staged !== undefined) this.#state.text = staged;
    return result;
  }

  override async rollback(options?: ReturnOptions): Promise<void> {
    const rollingBack = super.rollback(options);
    this.#takeStaged();
    await rollingBack;
  }

  override async close(): Promise<void> {
    this.#open.delete(this);
    await super.close();
  }

  /** Call it after `commit` or `rollback`: one that is refused, as of a busy session, leaves the transaction open. */
  #takeStaged(): string | undefined {
    if (this.hasOpenTransaction) return undefined;
    const staged = this.#staged;
    this.#staged = undefined;
    return staged;
  }
}
