/** A transaction whose processes tests kill: it consumes a message on one instance and enqueues one on another. */
import type { RemoteInstance, TransactionCoordinator } from '../../src/index.ts';

export interface TransactionPlace {
  clients: { home: RemoteInstance; shipping: RemoteInstance };
  coordinator: TransactionCoordinator;
}

export interface TransactionWork {
  /** Payload of the order that is consumed on the home instance, and of the shipment that is enqueued on the other one. */
  name: string;
  coupling: 'loose' | 'tight';
  /** The role whose branch inserts a row with this name into a table of the home instance; undefined for none. */
  insertsAt: 'home' | 'shipping' | undefined;
}

/** Resolves with the outcome that the application gets: `committed`, `rolled back` or `unknown`. */
export async function transact(
  { clients, coordinator }: TransactionPlace,
  { name, coupling, insertsAt }: TransactionWork,
): Promise<string> {
  const sessions = { home: clients.home.openSession(), shipping: clients.shipping.openSession() };
  const lock = coupling === 'tight' ? { lockWaitMs: 1_000 } : {};
  const transaction = coordinator.begin({ coupling, timeoutMs: 3_000, ...lock });
  try {
    await transaction.enlist('home', sessions.home);
    await transaction.enlist('shipping', sessions.shipping);
    const [order] = await sessions.home.dequeue('orders', { waitMs: 5_000 });
    if (order?.payload.toString() !== name) throw new Error(`${name} is not there`);
    sessions.shipping.enqueue('shipments', { payload: name });
    if (insertsAt !== undefined) sessions[insertsAt].execute('INSERT INTO shipped VALUES (?)', [name]);
    await transaction.commit();
    return 'committed';
  } catch (error) {
    await transaction.rollback().catch(() => undefined); // A failed commit has already ended it.
    return (error as { code?: string }).code === 'COMMIT_OUTCOME_UNKNOWN' ? 'unknown' : 'rolled back';
  } finally {
    await Promise.allSettled([sessions.home.close(), sessions.shipping.close()]);
  }
}
