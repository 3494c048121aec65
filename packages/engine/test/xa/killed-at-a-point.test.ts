/**
 * The processes of a distributed transaction are killed at each of its labelled points: the coordinator, the instances of its branches,
 * and several at once. Then any one of them is killed again in the recovery, when it ends a branch. The branches are tightly coupled and
 * ship messages, or also statements, to the home instance, or both have work of their own. Afterwards all of it has happened or nothing,
 * as the application was told, which runs in the process of the coordinator. A killed process loses no write, synced or not. Lost
 * writes are tried in simulations (`crash-matrix.test.ts`).
 */
import { expect, it, onTestFinished } from 'vitest';
import { connect } from '../../src/index.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { drawnSeed, isTorture } from '../random.ts';
import { Killable } from './killable.ts';
import {
  numberOf,
  type PointOf,
  pointsOfDecided,
  pointsOfPassedOn,
  pointsOfRecovery,
  pointsOfShipped,
  type Role,
} from './points.ts';
import { rows, run } from './rows-support.ts';
import { put, takeAll } from './support.ts';
import type { TransactionPlace, TransactionWork } from './transact.ts';

interface Cluster {
  processes: Record<Role, Killable>;
  clients: TransactionPlace['clients'];
}

/** `reached` tells whether the coordinator calls the instance of a branch or the other one, which passes the calls on. */
async function openCluster(reached: 'own' | 'other'): Promise<Cluster> {
  const dir = makeFolder();
  const third = await openTestInstance({ dir, instance: numberOf.coordinator });
  for (const name of ['orders', 'shipments'])
    await third.createQueue({ name, forwarding: false, attemptsMax: null });
  await third.close();
  const processes = {
    home: new Killable(dir, 'home', reached),
    shipping: new Killable(dir, 'shipping', reached),
    coordinator: new Killable(dir, 'coordinator', reached),
  };
  await processes.home.start();
  await processes.shipping.start();
  const connectTo = async (role: Role) => {
    const client = await connect({ dir, instance: numberOf[role], connectMs: 20_000 });
    onTestFinished(() => client.close());
    return client;
  };
  const clients = { home: await connectTo('home'), shipping: await connectTo('shipping') };
  await run(clients.home, 'CREATE TABLE shipped (name TEXT PRIMARY KEY) WITHOUT ROWID');
  await processes.coordinator.start();
  return { processes, clients };
}

/** Resolves with whether the transaction was committed. Throws if the instances do not agree. */
async function verify({ clients }: Cluster, { name, insertsAt }: TransactionWork): Promise<boolean> {
  const { home, shipping } = clients;
  const inDoubt = async () => [...(await home.xa.recover()), ...(await shipping.xa.recover())];
  await expect.poll(inDoubt, { interval: 20 }).toEqual([]);
  const consumer = home.openSession();
  const shipments = [...(await takeAll(home, 'shipments')), ...(await takeAll(shipping, 'shipments'))];
  const inserted = await rows(home, 'SELECT name FROM shipped');
  const committed = shipments.length === 1;
  // Messages of an unprepared branch are returned when its session has ended or its time limit is over.
  const [order] = await consumer.dequeue('orders', { waitMs: committed ? 0 : 10_000 });
  await consumer.commit();
  await consumer.close();
  await run(home, 'DELETE FROM shipped');
  expect({ shipments, inserted, order: order?.payload.toString() }).toEqual({
    shipments: committed ? [name] : [],
    inserted: committed && insertsAt !== undefined ? [{ name }] : [],
    order: committed ? undefined : name,
  });
  return committed;
}

interface Killing {
  killed: readonly Role[];
  /** The role that is killed in the recovery when it ends a branch, whether or not it was killed before; undefined for none. */
  again: Role | undefined;
  work: Omit<TransactionWork, 'name'>;
}

/** Resolves with whether a process was killed in the recovery, which does not happen if no branch was in doubt. */
async function killAt(cluster: Cluster, { role, point }: PointOf, { killed, again, work }: Killing) {
  const inWords = again === undefined ? '' : `, then ${again} in the recovery`;
  const name = `${role} ${point}, ${killed.join(' and ')} killed${inWords}, row at ${work.insertsAt}`;
  const { processes, clients } = cluster;
  const whole = { ...work, name };
  await put(clients.home, 'orders', name);
  const { stopped } = await processes[role].arm([point]);
  const told = processes.coordinator.transact(whole);
  const tooEarly = told.then((how) => {
    throw new Error(`${name}: ${how} without having been there`);
  });
  await Promise.race([stopped, tooEarly]);
  tooEarly.catch(() => undefined); // From now on the transaction may end.
  await Promise.all(killed.map((each) => processes[each].kill()));
  if (!killed.includes(role)) processes[role].resume();
  const participants = killed.filter((each) => each !== 'coordinator');
  await Promise.all(participants.map((each) => processes[each].start()));
  const isRestarted = killed.includes('coordinator');
  const armed =
    again === undefined || (again === 'coordinator' && isRestarted)
      ? undefined
      : await processes[again].arm(pointsOfRecovery[again]);
  const restarted = isRestarted ? restartCoordinator(processes.coordinator, again) : undefined;
  const verified = Promise.all([told, restarted]).then(() => verify(cluster, whole));
  verified.catch(() => undefined); // It is awaited only later.
  let isKilledAgain = false;
  if (armed !== undefined) {
    isKilledAgain = await Promise.race([armed.stopped.then(() => true), verified.then(() => false)]);
    if (isKilledAgain) {
      await processes[again!].kill();
      await processes[again!].start();
    } else await processes[again!].arm([]); // No branch was in doubt, so the process must not stop later.
  }
  const committed = await verified;
  const outcome = await told;
  if (outcome !== 'unknown')
    expect(`${name}: ${outcome}`).toBe(`${name}: ${committed ? 'committed' : 'rolled back'}`);
  return isKilledAgain || (await restarted) === true;
}

/** Starts the coordinator, which resolves branches in doubt, and kills it in that if `again` says so. Resolves with whether it was killed. */
async function restartCoordinator(coordinator: Killable, again: Role | undefined): Promise<boolean> {
  const { serving, stopped } = coordinator.launch(
    again === 'coordinator' ? pointsOfRecovery.coordinator : [],
  );
  const isStopped = await Promise.race([stopped.then(() => true), serving.then(() => false)]);
  if (isStopped) {
    serving.catch(() => undefined); // The killed process never serves.
    await coordinator.kill();
    await coordinator.start();
  } else await coordinator.arm([]);
  return isStopped;
}

/**
 * Pairs of points and ways to kill. `npm run torture` tries a third of all, and other ones with the next seed. `npm test` tries one way
 * at each point, or at every other point for shipped and passed-on work.
 */
function casesOf(
  all: readonly PointOf[],
  ways: readonly Killing[],
  everyOther: boolean,
): [PointOf, Killing][] {
  const isTried = (index: number, way: number) => {
    if (isTorture) return (index + way) % 3 === drawnSeed % 3;
    return way === (5 * index + drawnSeed) % ways.length && (!everyOther || (index + drawnSeed) % 2 === 0);
  };
  return all.flatMap((point, index) =>
    ways.filter((_, way) => isTried(index, way)).map((way): [PointOf, Killing] => [point, way]),
  );
}

const crashing: Role[][] = [
  ['coordinator'],
  ['home'],
  ['shipping'],
  ['home', 'shipping'],
  ['coordinator', 'home'],
  ['coordinator', 'shipping'],
  ['coordinator', 'home', 'shipping'],
];

/** All sets of roles to kill at a point × all roles to kill in the recovery, with each work in turn. */
const waysOf = (works: readonly Killing['work'][]): Killing[] =>
  crashing
    .flatMap((killed) => [undefined, 'home', 'shipping', 'coordinator'].map((again) => ({ killed, again })))
    .map(({ killed, again }, way) => ({
      killed,
      again: again as Role | undefined,
      work: works[(way + Math.floor(way / 4) + Math.floor(drawnSeed / 3)) % works.length]!,
    }));

const shippedWork: Killing['work'][] = [
  { coupling: 'tight', insertsAt: 'shipping' },
  { coupling: 'tight', insertsAt: undefined },
];
const ownWork: Killing['work'][] = [{ coupling: 'loose', insertsAt: 'home' }];

/** Roles that end a branch in the recovery. A branch that ships its work is never in doubt, as its prepare is read-only. */
const ofShipped = ['coordinator', 'home'];
const ofDecided = ['coordinator', 'home', 'shipping'];

it.each([
  ['of a transaction whose work is shipped', 'own', pointsOfShipped, shippedWork, ofShipped],
  ['of calls that one instance passes on to the other', 'other', pointsOfPassedOn, shippedWork, ofShipped],
  ['of a transaction with a decision', 'own', pointsOfDecided, ownWork, ofDecided],
] as const)(
  'processes are killed at each point %s, and again in the recovery: all or nothing',
  { timeout: isTorture ? 1_800_000 : 120_000 },
  async (_, reached, all, works, recovering) => {
    const cluster = await openCluster(reached);
    const killedAgain = new Set<Role | undefined>();
    for (const [point, way] of casesOf(all, waysOf(works), works === shippedWork))
      if (await killAt(cluster, point, way)) killedAgain.add(way.again);
    if (isTorture) expect([...killedAgain].sort()).toEqual(recovering);
  },
);
