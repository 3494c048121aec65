/** How an instance stops serving: storage fails, another process takes it over, or it is closed. */

import { QueueError } from '../api/errors.ts';
import type { InstanceId } from '../model/ids.ts';
import type { ServiceHost } from '../singletons/service-host.ts';
import type { Catalog } from '../storage/catalog/catalog.ts';
import type { UnshardedEngine } from '../unsharded/unsharded-engine.ts';
import type { ShardedParts } from './assemble-sharded.ts';
import type { OpenSessions } from './open-sessions.ts';
import type { Scrubber } from './scrubber.ts';
import type { ServedQueues } from './served-queues.ts';

export interface InstanceEndOptions {
  instance: InstanceId;
  catalog: Catalog;
  sharded: ShardedParts;
  unsharded: UnshardedEngine;
  grouped: UnshardedEngine;
  scrubber: Scrubber;
  services: ServiceHost;
  queues: ServedQueues;
  sessions: OpenSessions;
  /** Called when the instance stops serving without having been closed. */
  onEnded?(error: QueueError): void;
  /** All files are closed: any process can host the instance. */
  onClosed(): void;
}

export class InstanceEnd {
  readonly #options: InstanceEndOptions;
  #closing: Promise<void> | undefined;
  readonly #closedBefore = new Set<() => Promise<void>>();

  constructor(options: InstanceEndOptions) {
    this.#options = options;
  }

  /** Storage failed: nothing more is served until the instance is opened again, which recovers. */
  fail(error: QueueError): void {
    if (error.code === 'INSTANCE_FENCED' || stoppedCodes.includes(error.code)) this.end(error);
    else this.end(new QueueError('INSTANCE_FAILED', { cause: error, details: { cause: error.code } }));
  }

  /** Whether storage failed. Only recovery can determine whether commits in progress at that time are durable. */
  get failed(): boolean {
    const code = this.#options.queues.endReason?.code;
    return code !== undefined && stoppedCodes.includes(code);
  }

  end(error: QueueError): void {
    const { queues, services, sharded, unsharded, grouped, onEnded } = this.#options;
    if (queues.endReason !== undefined) return;
    queues.endReason = error;
    void services.stop(); // never rejects
    sharded.queues.rejectWaiters(error);
    sharded.rowLockWaits.close(error);
    sharded.homeInstances.end(error);
    unsharded.rejectWaiters(error);
    grouped.rejectWaiters(error);
    onEnded?.(error);
  }

  closeBefore(close: () => Promise<void>): () => void {
    this.#closedBefore.add(close);
    return () => void this.#closedBefore.delete(close);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { instance, catalog, queues, sessions, sharded, unsharded, grouped } = this.#options;
    sessions.refuse();
    const closed = new QueueError('INSTANCE_CLOSED', { details: { instance } });
    const fenced = queues.endReason?.code === 'INSTANCE_FENCED';
    const reason = fenced ? queues.endReason : closed;
    try {
      sharded.rowLockWaits.close(closed); // a session that waits would not close
      // A server would keep the process alive, and its clients waiting for an instance that is gone.
      const ends = await Promise.allSettled([...this.#closedBefore].map((close) => close()));
      await this.#options.services.stop();
      await this.#options.scrubber.close();
      await sessions.closeAll();
      queues.endReason = reason;
      // A file that cannot be closed cleanly must not keep the others open.
      const closes = await Promise.allSettled([sharded.close(), unsharded.close(), grouped.close()]);
      if (!fenced) catalog.subscribers.removeOfInstance(instance); // else they belong to the process that took over
      for (const close of [...closes, ...ends]) if (close.status === 'rejected') throw close.reason;
    } finally {
      queues.endReason = reason;
      catalog.close();
      this.#options.onClosed();
    }
  }
}

/** Errors after which the instance must be opened again. */
const stoppedCodes: readonly string[] = ['INSTANCE_FAILED', 'INVARIANT_BROKEN'];
