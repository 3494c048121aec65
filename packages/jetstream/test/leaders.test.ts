/** Answers of servers that are not the leader of a stream, and may not have all acknowledged messages. */
import { type ClusterInfo, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, it, vi } from 'vitest';
import { isOfLeader, leaderOf } from '../src/leaders.ts';
import { streamOf } from '../src/stream-names.ts';
import { describeOnServers } from './servers.ts';

const replicasOf = (...names: string[]) =>
  names.map((name) => ({ name })) as NonNullable<ClusterInfo['replicas']>;
const streamWith = (replicas: number, cluster?: Partial<ClusterInfo>) =>
  ({ config: { num_replicas: replicas }, cluster }) as StreamInfo;

describe('an answer about a stream', () => {
  it.each([
    ['is of the leader', { leader: 'a', replicas: replicasOf('b', 'c') }, true],
    ['is of a member that does not know the leader', { replicas: replicasOf('a', 'b', 'c') }, false],
    ['is of a member that has just started', { leader: 'a', replicas: replicasOf('a', 'c') }, false],
    ['is of a member that has not joined the cluster yet', { leader: 'b' }, false],
    ['has no information about servers', undefined, false],
  ])('%s', (_, cluster, expected) => {
    expect(isOfLeader(streamWith(3, cluster))).toBe(expected);
  });

  it('is of the leader if no other server has the stream', () => {
    expect(isOfLeader(streamWith(1, { leader: 'a' }))).toBe(true);
    expect(isOfLeader(streamWith(1))).toBe(true);
  });
});

describe('the leader of a consumer', () => {
  const [single, clustered] = [{ server_id: 'S' }, { server_id: 'S', cluster: 'queues' }];

  it.each([
    [
      'has a name and the time of its election',
      { leader: 'a', leader_since: 'noon', raft_group: 'g' },
      clustered,
      'a since noon',
    ],
    ['is the answering server if there are no replicas', { leader: 'a' }, clustered, 'server S'],
    ['is the server if there is only one', undefined, single, 'server S'],
    ['is unknown while there is none', { raft_group: 'g' }, clustered, undefined],
    ['is unknown to a server that has just started', undefined, clustered, undefined],
  ])('%s', (_, cluster, server, expected) => {
    expect(leaderOf(cluster as ClusterInfo | undefined, server)).toBe(expected);
  });
});

describeOnServers('a server that is cut off', { servers: 3 }, (servers) => {
  it('lacks acknowledged messages, and its answers are not used', { timeout: 120_000 }, async () => {
    const { cluster } = servers;
    const [url, ...others] = cluster.urls as [string, ...string[]];
    const patient = { replicas: 3, callMs: 60_000, outcomeMs: 50_000 } as const;
    const store = await servers.open({ ...patient, servers: others });
    const cutOff = await servers.open({ ...patient, servers: url });
    await store.createQueue({ name: 'counted' });
    cluster.partition(0);
    const session = store.openSession();
    for (const payload of ['a', 'b', 'c']) {
      session.enqueue('counted', { payload });
      await session.commit();
    }
    const connection = await connect({ servers: url });
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const streamInfo = () => manager.streams.info(streamOf('counted'));
    // Until it notices the loss of the others, the server leaves the answer to them.
    await vi.waitFor(async () => expect((await streamInfo()).cluster?.leader).toBeUndefined(), {
      timeout: 60_000,
    });
    const counted = cutOff.queue('counted');
    expect((await streamInfo()).state.messages).toBe(0);
    cluster.heal();
    expect(await counted).toMatchObject({ enqueued: 3, consumed: 0, ready: 3 });
    await connection.close();
    await Promise.all([store.close(), cutOff.close()]);
  });
});
