/** Two served instances of one cluster, and branches of one tightly coupled transaction on them. */
import { onTestFinished } from 'vitest';
import {
  connect,
  type Instance,
  type RemoteInstance,
  type Session,
  serveInstance,
  type TransactionCoordinator,
  type Xid,
} from '../../src/index.ts';
import { makeFolder, openTestClient, openTestInstance } from '../folder.ts';
import { xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

export interface Two {
  /** Closes the first instance, and opens and serves it again. */
  restartOne(): Promise<Instance>;
  one: Instance;
  two: Instance;
  clients: { one: RemoteInstance; two: RemoteInstance };
  coordinator: TransactionCoordinator;
}

/** Opens and serves two instances with the queues `orders` and `shipments`. */
export async function openTwo(): Promise<Two> {
  const dir = makeFolder();
  const one = await openTestInstance({ dir });
  await one.createQueue({ name: 'orders', forwarding: false });
  await one.createQueue({ name: 'shipments', forwarding: false });
  const two = await openTestInstance({ dir, instance: 2 });
  const served = await serveInstance(one);
  const client = await connect({ path: served.path });
  onTestFinished(() => client.close());
  const clients = { one: client, two: await openTestClient(two) };
  const coordinator = one.coordinator({ one: clients.one.xa, two: clients.two.xa });
  const restartOne = async () => {
    await served.close();
    await one.close();
    const again = await openTestInstance({ dir });
    const servedAgain = await serveInstance(again);
    onTestFinished(() => servedAgain.close());
    return again;
  };
  onTestFinished(() => served.close());
  return { one, two, clients, coordinator, restartOne };
}

/** Options of a branch whose home instance is the first one. */
export const tight = { coupling: 'tight', home: 1 } as const;
/** Two branches of one transaction. */
export const a = xidOf('transfer 1', 'a');
export const b = xidOf('transfer 1', 'b');

/** Starts a branch, enqueues a shipment, sends it and ends: three round trips. */
export async function ship(session: Session, xid: Xid, payload: string, options = {}): Promise<void> {
  await xaOf(session).start(xid, { ...tight, ...options });
  session.enqueue('shipments', { payload });
  await xaOf(session).flush(xid);
  await xaOf(session).end(xid);
}
