/**
 * Determines which server has answered about a stream or a consumer. Only the leader of a replicated one knows everything that
 * was acknowledged. nats-server 2.15 lets other members answer too: any member while there is no leader, and the preferred first
 * leader during the ten seconds after its start. They report their own state, which may be empty.
 */
import type { ClusterInfo, StreamInfo } from '@nats-io/jetstream';
import type { ServerInfo } from '@nats-io/transport-node';
import type { ServerLink } from './server-link.ts';

/** Whether the counts are from the stream's leader. Other members list the leader among the other replicas. */
export function isOfLeader({ config, cluster }: Pick<StreamInfo, 'config' | 'cluster'>): boolean {
  if (config.num_replicas === 1) return true;
  const { leader = '', replicas = [] } = cluster ?? {};
  return leader !== '' && replicas.length > 0 && replicas.every(({ name }) => name !== leader);
}

/**
 * Identifies a consumer's leader and its term: a text that differs after each change of the leader. Undefined if the answering
 * server knows no leader. For a consumer without replicas the text changes with the process of the server that the session is
 * connected to: a restart of another server that has the consumer cannot be detected.
 */
export function leaderOf(
  cluster: ClusterInfo | undefined,
  server: Pick<ServerInfo, 'server_id' | 'cluster'>,
): string | undefined {
  if (cluster?.leader_since !== undefined) return `${cluster.leader} since ${cluster.leader_since}`;
  const isReplicated =
    cluster === undefined ? server.cluster !== undefined : cluster.raft_group !== undefined;
  return isReplicated ? undefined : `server ${server.server_id}`;
}

export interface PullTarget {
  stream: string;
  consumer: string;
}

/**
 * `leaderOf` the consumer. A new leader counts the time of a held message from when it was stored, not from when it was
 * delivered (the time that nats-server 2.15 replicates with a delivery), so it may deliver it again at once. Within the time
 * of one leader a hold lasts, and only then may its holder end it: a return would end the next one's. Throws
 * `INSTANCE_UNREACHABLE` while there is no leader.
 */
export function readLeader(link: ServerLink, { stream, consumer }: PullTarget): Promise<string> {
  return link.call(async () => {
    const { cluster } = await link.manager.consumers.info(stream, consumer);
    const leader = leaderOf(cluster, link.connection.info!);
    if (leader === undefined) throw new Error('The consumer has no leader');
    return leader;
  });
}
