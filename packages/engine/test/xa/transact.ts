/** The transaction of tests that kill its processes: a message is consumed on one instance and enqueued on another. */
import type { RemoteInstance, TransactionCoordinator } from '../../src/index.ts';

export interface TransactionPlace {
  clients: { home: RemoteInstance; shipping: RemoteInstance };
  coordinator: TransactionCoordinator;
}

export interface TransactionWork {
  /** Payload of the order that is consumed on the home instance, and of the shipment that the other one enqueues. */
  name: string;
  coupling: 'loose' | 'tight';
  /** Whose branch inserts a row of this name, which is in the file of the home instance; undefined: none. */
  insertsAt: 'home' | 'shipping' | undefined;
}

/** Returns what the application is told: `committed`, `rolled back` or `unknown`. */
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
    await transaction.rollback().catch(() => undefined); // its commit has ended it
    return (error as { code?: string }).code === 'COMMIT_OUTCOME_UNKNOWN' ? 'unknown' : 'rolled back';
  } finally {
    await Promise.allSettled([sessions.home.close(), sessions.shipping.close()]);
  }
}
