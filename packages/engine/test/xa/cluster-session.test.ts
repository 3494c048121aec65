/** Branches of a session over a whole cluster: on which instance they are, and how they are found. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ClusterBranches } from '../../src/client/cluster-branches.ts';
import type { RemoteSession } from '../../src/client/remote-session.ts';
import {
  type Cluster,
  type ClusterClient,
  connect,
  connectCluster,
  type RemoteInstance,
  serveInstance,
  startCluster,
} from '../../src/index.ts';
import { SessionGuard } from '../../src/model/session-calls.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { code, put, takeAll, xaOf } from './support.ts';
import { xidOf } from './xid-of.ts';

const xid = xidOf('transfer 1');

describe('a session over a cluster', () => {
  let cluster: Cluster;
  let client: ClusterClient;
  let instances: [RemoteInstance, RemoteInstance];

  beforeAll(async () => {
    const dir = mkdtempSync(join(tmpdir(), 'shardlab-test-'));
    cluster = await startCluster({ dir, instances: 2 });
    client = connectCluster({ dir });
    instances = [await connect({ dir }), await connect({ dir, instance: 2 })];
  });

  afterAll(async () => {
    await Promise.all([client.close(), ...instances.map((instance) => instance.close())]);
    await cluster.close();
    rmSync(cluster.dir, { recursive: true, force: true });
  });

  const createQueue = () => client.createQueue({ name: 'orders', forwarding: false });
  const dropQueue = () => client.dropQueue('orders');

  it('does all work of a branch on one instance', async () => {
    await createQueue();
    onTestFinished(dropQueue);
    const session = client.openSession();
    session.enqueue('orders', { payload: 'local' });
    await expect(xaOf(session).start(xid)).rejects.toEqual(code('XAER_OUTSIDE'));
    await session.commit();
    const before = session.roundTrips!;
    await xaOf(session).start(xid);
    await expect(xaOf(session).start(xidOf('t2'))).rejects.toEqual(code('XAER_PROTO'));
    session.enqueue('orders', { payload: 'o1' });
    await expect(session.commit()).rejects.toEqual(code('XAER_PROTO'));
    await expect(session.rollback()).rejects.toEqual(code('XAER_PROTO'));
    await xaOf(session).flush(xid);
    await xaOf(session).end(xid);
    expect(await xaOf(session).prepare(xid)).toBe('ok');
    await xaOf(session).commit(xid);
    expect(session.roundTrips! - before).toBe(5);
    session.enqueue('orders', { payload: 'local again' });
    await session.commit();
    const left = [...(await takeAll(instances[0], 'orders')), ...(await takeAll(instances[1], 'orders'))];
    expect(left.sort()).toEqual(['local', 'local again', 'o1']);
  });

  it('dequeues in a branch from its instance only', async () => {
    await createQueue();
    onTestFinished(dropQueue);
    for (const instance of instances) await put(instance, 'orders', `of ${instance.id}`);
    const session = client.openSession();
    await xaOf(session).start(xid, { coupling: 'tight', home: 2 });
    expect(xaOf(session).home).toBe(2);
    const messages = await session.dequeue('orders', { max: 10, waitMs: 10 });
    expect(messages.map(({ payload }) => payload.toString())).toEqual(['of 2']);
    await xaOf(session).end(xid, 'suspend');
    expect(xaOf(session).home).toBeUndefined();
    await xaOf(session).start(xid, { flag: 'resume' });
    await xaOf(session).end(xid, 'fail');
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XA_RBROLLBACK'));
    await expect(xaOf(session).prepare(xid)).rejects.toEqual(code('XAER_NOTA'));
    expect(await takeAll(instances[1], 'orders')).toEqual(['of 2']);
  });

  it('finds and joins branches of other sessions on any instance', async () => {
    await createQueue();
    onTestFinished(dropQueue);
    for (const instance of instances) {
      const session = instance.openSession();
      await xaOf(session).start(xidOf(`t${instance.id}`));
      session.enqueue('orders', { payload: `of ${instance.id}` });
      await xaOf(session).end(xidOf(`t${instance.id}`));
    }
    const session = client.openSession();
    await xaOf(session).start(xidOf('t2'), { flag: 'join' });
    session.enqueue('orders', { payload: 'joined' });
    await xaOf(session).end(xidOf('t2'));
    for (const name of ['t1', 't2']) expect(await xaOf(session).prepare(xidOf(name))).toBe('ok');
    expect(await xaOf(session).recover()).toHaveLength(2);
    const other = client.openSession();
    await xaOf(other).commit(xidOf('t2'));
    await xaOf(other).rollback(xidOf('t1'));
    await expect(xaOf(other).commit(xidOf('t2'))).rejects.toEqual(code('XAER_NOTA'));
    await expect(xaOf(session).commit(xidOf('t2'))).rejects.toEqual(code('XAER_NOTA'));
    expect(await takeAll(instances[0], 'orders')).toEqual([]);
    expect(await takeAll(instances[1], 'orders')).toEqual(['joined', 'of 2']);
  });

  it('does not report a branch as unknown while an instance that may have it does not answer', async () => {
    const dir = makeFolder();
    const sessions: RemoteSession[] = [];
    for (const instance of [1, 2]) {
      const opened = await openTestInstance({ dir, instance });
      const served = await serveInstance(opened);
      const remote = await connect({ path: served.path, connectMs: 1_000 });
      onTestFinished(() => remote.close());
      onTestFinished(() => served.close());
      sessions.push(remote.openSession() as RemoteSession);
      if (instance === 2) await served.close();
    }
    const branches = new ClusterBranches({
      guard: new SessionGuard('one of a test'),
      hasWork: false,
      chooseInstance: () => 1,
      memberInstances: () => [1, 2],
      branchesOn: (instance) => sessions[instance - 1]!.xa,
      onStarted: () => undefined,
      onEnded: () => undefined,
    });
    await expect(branches.commit(xid)).rejects.toEqual(code('XAER_RMFAIL'));
    await expect(branches.recover()).rejects.toEqual(code('XAER_RMFAIL'));
    await branches.start(xid);
    await branches.end(xid);
    expect(await branches.prepare(xid)).toBe('read-only'); // The instance of a branch that it has started itself is known.
  });
});
