/**
 * Serves an instance, or coordinates transactions over two served ones. It stops right before or after a step of a distributed
 * transaction that its parent names, until the parent kills it or lets it continue. The steps are methods of the engine, which are
 * wrapped when the process starts.
 *
 *     point-process.ts <folder> <instance> <own | other> [<point> …]
 *
 * own: the coordinator calls the instance of each branch; other: it calls the other instance, which passes the calls on. The points are
 * those at which the process stops from its start on.
 */
import { readSync, writeSync } from 'node:fs';
import {
  connect,
  type Instance,
  openInstance,
  type RemoteInstance,
  serveInstance,
  type XaResource,
} from '../../src/index.ts';
import { BranchWrites } from '../../src/xa/branch-writes.ts';
import { Decisions } from '../../src/xa/coordinator/decisions.ts';
import { PassedOnCalls } from '../../src/xa/passed-on-calls.ts';
import { ServedBranches } from '../../src/xa/served-branches.ts';
import { ShippedBranches } from '../../src/xa/tight/shipped-branches.ts';
import { TightBranch } from '../../src/xa/tight/tight-branch.ts';
import { numberOf, type Point } from './points.ts';
import { type TransactionWork, transact } from './transact.ts';

export type ToPointProcess =
  | { type: 'arm'; points: readonly Point[] }
  | { type: 'transact'; work: TransactionWork };
export type FromPointProcess =
  | { type: 'serving' }
  | { type: 'armed' }
  /** The outcome that the application of a transaction gets. */
  | { type: 'told'; how: string };

/** A pipe to the parent, on which the process reports that it has stopped, and blocks until it may continue. */
const channel = 4;
const [dir, number, reached, ...points] = process.argv.slice(2) as [string, string, 'own' | 'other'];
let armed: readonly string[] = points;

function reach(point: string): void {
  if (!armed.includes(point)) return;
  armed = [];
  writeSync(channel, '.');
  readSync(channel, Buffer.alloc(1));
}

/** Does a step of a transaction, with a point before and one after it. */
function stopAround<T>(step: string, run: () => T | Promise<T>): T | Promise<T> {
  reach(`before ${step}`);
  const result = run();
  if (!(result instanceof Promise)) {
    reach(`after ${step}`);
    return result;
  }
  return result.then((value: T) => {
    reach(`after ${step}`);
    return value;
  });
}

/** Wraps a method of all objects of a class. `stepOf` returns the name of the step in points. */
function watch<Name extends string>(
  { prototype }: { prototype: { [name in Name]: (...args: never[]) => unknown } },
  name: Name,
  stepOf: (...args: never[]) => string,
): void {
  const original = prototype[name] as (...args: never[]) => unknown;
  const watched = function (this: unknown, ...args: never[]): unknown {
    return stopAround(stepOf(...args), () => original.apply(this, args));
  };
  Object.assign(prototype, { [name]: watched });
}

watch(TightBranch, 'leave', () => 'shipping');
watch(ShippedBranches, 'ship', () => 'receiving shipped work');
watch(TightBranch, 'prepareShipped', () => 'asking who commits');
watch(ShippedBranches, 'prepareShipped', () => 'answering who commits');
watch(ShippedBranches, 'giveTo', () => 'adding shipped work to its own branch');
watch(BranchWrites, 'prepare', () => 'writing the prepared branch');
watch(BranchWrites, 'commit', () => 'writing the commit');
watch(BranchWrites, 'rollback', () => 'writing the rollback');
watch(PassedOnCalls, 'send', (_instance: never, { call }: { call: string }) => `passing on the ${call}`);
watch(ServedBranches, 'answer', ({ call }: { call: string }) => `answering the ${call} that was passed on`);
watch(Decisions, 'decide', () => 'storing the decision');
watch(Decisions, 'forget', () => 'forgetting the decision');

const tell = (message: FromPointProcess) => process.send!(message);

const instance = await openInstance({ dir, instance: Number(number) });
const coordinated = Number(number) === numberOf.coordinator ? await coordinate(instance) : undefined;
if (coordinated === undefined) await serveInstance(instance);
process.on('message', (message: ToPointProcess) => {
  if (message.type === 'arm') {
    armed = message.points;
    tell({ type: 'armed' });
  } else void coordinated!(message.work);
});
tell({ type: 'serving' });

/** Starts a coordinator, which resolves branches in doubt now and when participants are back. Returns a function that runs a transaction. */
async function coordinate(own: Instance): Promise<(work: TransactionWork) => Promise<void>> {
  const connectTo = (role: 'home' | 'shipping') =>
    connect({ dir, instance: numberOf[role], connectMs: 20_000 });
  const clients = { home: await connectTo('home'), shipping: await connectTo('shipping') };
  const { home, shipping } = clients;
  const coordinator = own.coordinator({
    home: branchesOf(home, reached === 'own' ? home : shipping, numberOf.home),
    shipping: branchesOf(shipping, reached === 'own' ? shipping : home, numberOf.shipping),
  });
  await coordinator.resolve();
  return async (work) => {
    tell({ type: 'told', how: await transact({ clients, coordinator }, work) });
  };
}

/** The branches of an instance for their transaction manager, called at that instance or at another one, which passes the calls on. */
function branchesOf(own: RemoteInstance, { xa }: RemoteInstance, instance: number): XaResource {
  const tellOutcome = async (call: () => Promise<void>) => stopAround('telling a branch its outcome', call);
  return {
    prepare: (xid) => xa.prepare(xid, { instance }),
    commit: (xid, options) => tellOutcome(() => xa.commit(xid, { ...options, instance })),
    rollback: (xid) => tellOutcome(() => xa.rollback(xid, { instance })),
    recover: () => own.xa.recover(),
    forget: (xid) => own.xa.forget(xid),
  };
}
